// Chunks of bytes as a stream.

/** A stream that asks for a chunk when its reader does. */
export function streamOf(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
): ReadableStream<Uint8Array> {
  // Without a prototype: the engine asks both objects for more fields.
  const source: UnderlyingDefaultSource<Uint8Array> & { __proto__: null } = {
    __proto__: null,
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  };
  const strategy: QueuingStrategy<Uint8Array> & { __proto__: null } = {
    __proto__: null,
    highWaterMark: 0,
  };
  return new ReadableStream(source, strategy);
}
