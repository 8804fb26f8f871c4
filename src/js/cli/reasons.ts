// The reasons for which tensors are kept.

/** Tensors that are kept for one reason. */
export interface Kept {
  readonly reason: string;
  readonly count: number;
  readonly bytes: number;
}

/** Kept tensors by reason, with the reasons that keep most bytes first. */
export function keptByReason(
  tensors: Iterable<{ readonly reason?: string | undefined; readonly bytes: number }>,
): Kept[] {
  const reasons = new Map<string, Kept>();
  for (const { reason = "no reason", bytes } of tensors) {
    const known = reasons.get(reason) ?? { reason, count: 0, bytes: 0 };
    reasons.set(reason, { reason, count: known.count + 1, bytes: known.bytes + bytes });
  }
  return [...reasons.values()].sort((a, b) => b.bytes - a.bytes);
}
