/** After the load: single operations until they are as fast as before it, and health until every node is ready. */
import type { Health } from '../../client/generated-api.ts';
import { pause } from '../operations/at-once.ts';
import type { Operation } from '../operations/operation.ts';
import type { Recovery } from '../report/results.ts';

export interface RecoveryOptions {
  readonly operation: Operation;
  /** Of single operations before the load. */
  readonly beforeP50Ms: number;
  readonly health: () => Promise<Health | undefined>;
  readonly withinMs: number;
}

/** The number of operations in a compared median. */
const operations = 5;
/** Latency is back when its median is below this multiple of the earlier one, plus this much: small values are noisy. */
const factor = 2;
const slackMs = 5;
const everyMs = 100;

export async function recover({ operation, beforeP50Ms, health, withinMs }: RecoveryOptions): Promise<Recovery> {
  const beganMs = performance.now();
  const allowedMs = beforeP50Ms * factor + slackMs;
  const last: number[] = [];
  let state = await health();
  for (;;) {
    const sentMs = performance.now();
    const succeeded = await operation
      .run((_, call) => call())
      .then(
        () => true,
        () => false,
      );
    last.push(succeeded ? performance.now() - sentMs : Number.POSITIVE_INFINITY);
    if (last.length > operations) last.shift();
    const afterP50Ms = last.toSorted((a, b) => a - b)[Math.floor(last.length / 2)]!;
    state = await health();
    const ready = state?.status === 'ok' && state.nodes_ready === state.nodes_total;
    const tookMs = performance.now() - beganMs;
    const isBack = ready && last.length === operations && afterP50Ms <= allowedMs;
    if (isBack || tookMs > withinMs) {
      return outcome(isBack, tookMs, afterP50Ms, state);
    }
    if (!succeeded) await pause(everyMs);
  }

  function outcome(holds: boolean, tookMs: number, afterP50Ms: number, state: Health | undefined): Recovery {
    const nodes = state === undefined ? 'no answer' : `${state.nodes_ready} of ${state.nodes_total} nodes ready`;
    const median = Number.isFinite(afterP50Ms) ? `${afterP50Ms.toFixed(1)} ms` : 'failing';
    const compared = `p50 ${median}, ${beforeP50Ms.toFixed(1)} ms before the load; ${nodes}`;
    return {
      holds,
      tookMs: holds ? tookMs : null,
      beforeP50Ms,
      afterP50Ms: Number.isFinite(afterP50Ms) ? afterP50Ms : -1,
      health: state?.status ?? 'unreachable',
      text: holds
        ? `as before the load within ${(tookMs / 1000).toFixed(1)} s (${compared})`
        : `not as before the load after ${(tookMs / 1000).toFixed(1)} s (${compared})`,
    };
  }
}
