// Rows and chunks of a file that the calling thread asks for: iterations that stay at the library's end.

/** Rows of one answer, at most. */
const MOST_ROWS = 64;

/** Milliseconds after which rows are sent, even if there are few and the next one takes long. */
const LONGEST_WAIT = 10;

/** One answer: items in their order, and whether they are the last ones. */
export interface Pulled {
  readonly items: readonly unknown[];
  readonly done: boolean;
}

/** An iteration that goes on when the calling thread asks for more. */
export class Pull {
  /** The function that made it, for messages. */
  readonly typeName: string;
  readonly #iterator: AsyncIterator<unknown>;
  readonly #most: number;
  readonly #controller: AbortController | undefined;
  /** The item after those that were sent, which is being made. */
  #coming: Promise<IteratorResult<unknown>> | undefined;

  /**
   * @param most  items of one answer
   * @param controller  aborts the work when the iteration is left
   */
  constructor(
    typeName: string,
    items: AsyncIterable<unknown>,
    most = MOST_ROWS,
    controller?: AbortController,
  ) {
    this.typeName = typeName;
    this.#iterator = items[Symbol.asyncIterator]();
    this.#most = most;
    this.#controller = controller;
  }

  /** The next items: at least one, unless there are no more. */
  async next(): Promise<Pulled> {
    const items: unknown[] = [];
    const end = performance.now() + LONGEST_WAIT;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        resolve(undefined);
      }, LONGEST_WAIT);
    });
    try {
      do {
        this.#coming ??= this.#iterator.next();
        // An error stays for the next call, so that the items before it are not lost.
        const made = this.#coming.catch(() => undefined);
        const result = await (items.length === 0 ? this.#coming : Promise.race([made, late]));
        if (result === undefined) break;
        this.#coming = undefined;
        if (result.done === true) return { items, done: true };
        items.push(result.value);
        // The timer of a thread that works without a turn does not come.
      } while (items.length < this.#most && performance.now() < end);
    } finally {
      clearTimeout(timer);
    }
    return { items, done: false };
  }

  /** The next chunk, whose memory moves. */
  nextChunk(): Promise<Pulled> {
    return this.next();
  }

  /** Leaves the iteration. */
  stop(): void {
    this.#controller?.abort();
    // What the work fails with now is of no use.
    Promise.resolve(this.#iterator.return?.()).catch(() => undefined);
  }
}

/** The chunks of a stream, each in memory of its own, which moves to the calling thread. */
async function* ownChunks(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (value === undefined) return;
      yield value.slice();
    }
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined);
  }
}

/** A file of `quantizeModel`, which makes streams of its bytes. */
export class Opener {
  readonly typeName = "OutputFile";
  readonly #open: (begin: unknown) => ReadableStream<Uint8Array>;

  constructor(open: (begin: unknown) => ReadableStream<Uint8Array>) {
    this.#open = open;
  }

  /** Starts a stream. @param begin  offset of its first byte */
  chunks(begin: unknown): Pull {
    return new Pull("OutputFile.stream", ownChunks(this.#open(begin)), 1);
  }
}
