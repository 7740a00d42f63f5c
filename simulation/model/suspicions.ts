/**
 * Suspicions of nodes as the coordinator reports them: one at a time for a node, however many sessions saw its fault. The first
 * lasts ten seconds, each further one within ten minutes twice as long as the one before, and none longer than 320 s.
 */
import type { Checker, Observation } from '../cluster/observation.ts';

const firstMs = 10_000;
const longestMs = 320_000;
const rememberedMs = 600_000;

interface Suspicion {
  /** Further faults may have made it longer. */
  readonly untilMs: number;
  readonly lengthMs: number;
  /** What began it. */
  readonly reason: string;
}

export function suspicionsAsModelled(): Checker {
  const known = new Map<string, Suspicion>();
  /** By node: its present start; a new one clears its silence, but not its wrong values. */
  const boots = new Map<string, string>();
  /** The events of two coordinators look alike. */
  let hasSecond = false;

  function suspected(node: string, reason: string, forMs: number, atMs: number): string | undefined {
    const before = known.get(node);
    known.set(node, { untilMs: atMs + forMs, lengthMs: forMs, reason });
    if (before === undefined)
      return forMs === firstMs ? undefined : `a first suspicion of node ${node} lasts ${forMs} ms`;
    if (atMs < before.untilMs) return `node ${node} is suspected again, and its suspicion has not ended`;
    const doubled = Math.min(longestMs, 2 * before.lengthMs);
    const mayBeFirst = atMs - before.untilMs >= rememberedMs;
    if (forMs === doubled || (mayBeFirst && forMs === firstMs)) return undefined;
    return `node ${node} was suspected for ${before.lengthMs} ms, and is again for ${forMs} ms`;
  }

  return {
    invariant: 'suspected-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'process':
          if (observation.process !== 'coordinator') return undefined;
          known.clear();
          boots.clear();
          return undefined;
        case 'fault':
          hasSecond ||= observation.fault === 'second_coordinator';
          return undefined;
        case 'clock':
          if (observation.process !== 'coordinator') return undefined;
          // By its new clock they may have ended at any time.
          for (const [node, suspicion] of known) known.set(node, { ...suspicion, untilMs: Number.NEGATIVE_INFINITY });
          return undefined;
        case 'link': {
          const { peer, what, boot } = observation;
          if (what !== 'linkUp' || boots.get(peer) === boot) return undefined;
          boots.set(peer, boot);
          const node = peer.slice('node/'.length);
          if (['silent', 'slow'].includes(known.get(node)?.reason ?? '')) known.delete(node);
          return undefined;
        }
        case 'emitted': {
          const { process, event, atMs } = observation;
          if (event.type !== 'node.suspected' || process !== 'coordinator' || hasSecond) return undefined;
          const { node, reason, for_ms: forMs } = event.fields;
          return suspected(String(node), String(reason), Number(forMs), atMs);
        }
        default:
          return undefined;
      }
    },
  };
}
