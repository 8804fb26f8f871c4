// Chunks of bytes as a stream.

/** A stream that asks for a chunk when its reader does. */
export function streamOf(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}
