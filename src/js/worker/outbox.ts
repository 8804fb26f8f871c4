// The messages of a connection that wait for a turn of the event loop: many calls may be made at once.

import { isTurnOver, pause, takeTurn } from "./turns.js";

/** Messages that are posted within the caller's own turn, and bytes of arrays copied for them: about a millisecond. */
const TURN_POSTS = 8;
const TURN_BYTES = 2 ** 20;

/** Bytes of arrays in messages of calls that have not settled; later calls keep theirs until then. */
const UNSETTLED_BYTES = 2 ** 23;

/** A message that is made and posted when its turn comes. */
export interface Outgoing {
  /** Bytes of arrays that it copies. */
  readonly bytes: number;
  /** Never throws. */
  post(): void;
}

/** Posts messages in their order. Those that do not fit into the caller's turn wait for turns of the event loop. */
export class Outbox {
  /** Messages that the library waits for go before the others. */
  readonly #answers: Outgoing[] = [];
  readonly #waiting = new Set<Outgoing>();
  readonly #unsettled = new Set<Outgoing>();
  #unsettledBytes = 0;
  /** Posted in this turn of the event loop; undefined before the first. */
  #turn: { posts: number; bytes: number } | undefined;
  #isPosting = false;

  add(message: Outgoing): void {
    this.#waiting.add(message);
    this.#turn ??= this.#startTurn();
    const { posts, bytes } = this.#turn;
    const fits = posts < TURN_POSTS && bytes + message.bytes <= TURN_BYTES;
    if (this.#waiting.size === 1 && fits && this.#mayPost()) {
      this.#turn.posts++;
      this.#turn.bytes += message.bytes;
      this.#postFirst();
    } else this.#postInTurns(true);
  }

  /** Adds a message that the library waits for. */
  answer(message: Outgoing): void {
    this.#answers.push(message);
    this.#postInTurns(false);
  }

  /** Takes back a message whose call has settled. @returns whether it was posted */
  settle(message: Outgoing): boolean {
    const wasPosted = !this.#waiting.delete(message);
    if (this.#unsettled.delete(message)) {
      this.#unsettledBytes -= message.bytes;
      this.#postInTurns(true);
    }
    return wasPosted;
  }

  /** Forgets all messages: there is no library to post them to. */
  clear(): void {
    this.#answers.length = 0;
    this.#waiting.clear();
    this.#unsettled.clear();
    this.#unsettledBytes = 0;
  }

  #startTurn(): { posts: number; bytes: number } {
    pause().then(() => {
      this.#turn = undefined;
    });
    return { posts: 0, bytes: 0 };
  }

  /** Whether a message waits that may be posted. */
  #mayPost(): boolean {
    const [first] = this.#waiting;
    if (first === undefined) return false;
    return this.#unsettledBytes === 0 || this.#unsettledBytes + first.bytes <= UNSETTLED_BYTES;
  }

  #postFirst(): void {
    const [first] = this.#waiting;
    this.#waiting.delete(first);
    if (first.bytes > 0) {
      this.#unsettled.add(first);
      this.#unsettledBytes += first.bytes;
    }
    first.post();
  }

  async #postInTurns(startsLater: boolean): Promise<void> {
    if (this.#isPosting || !(this.#answers.length > 0 || this.#mayPost())) return;
    this.#isPosting = true;
    if (startsLater) await takeTurn();
    while (this.#answers.length > 0 || this.#mayPost()) {
      const answer = this.#answers.shift();
      if (answer === undefined) this.#postFirst();
      else answer.post();
      if (isTurnOver()) await takeTurn();
    }
    this.#isPosting = false;
  }
}
