// A pause: work waits at the gate while it is closed.

export class Gate {
  /** @type {Promise<void> | undefined} */
  #closed;
  #open = () => {};

  /** @param {boolean} isPaused */
  set(isPaused) {
    if (!isPaused) {
      this.#open();
      this.#closed = undefined;
    } else if (!this.#closed) {
      this.#closed = new Promise((resolve) => {
        this.#open = resolve;
      });
    }
  }

  /** Fulfilled while the gate is open. */
  async ready() {
    while (this.#closed) await this.#closed;
  }
}
