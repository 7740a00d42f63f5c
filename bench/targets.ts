/** What the service aims at on two cores with everything on them, the load generator too. */

import type { Memory } from './processes.ts';
import type { DkgPhase, SigningPhase, Target } from './results.ts';

const mib = 1024 * 1024;

/** Those that this run has measured. */
export function targetsOf(
  signing: readonly SigningPhase[],
  dkg: readonly DkgPhase[],
  memory: Readonly<Record<string, Memory>>,
): Target[] {
  const targets: Target[] = [];
  const find = (scheme: string, inFlight: number) =>
    signing.find((phase) => phase.door === 'rest' && phase.scheme === scheme && phase.inFlight === inFlight);
  const rate = (name: string, perSecond: number | undefined, aim: number) => {
    if (perSecond === undefined) return;
    targets.push({ name, aim: `${aim}/s or more`, got: `${Math.round(perSecond)}/s`, met: perSecond >= aim });
  };
  rate('mock ECDSA through REST, 64 in flight', find('ecdsa', 64)?.perSecond, 1000);
  rate('FROST-ed25519 through REST, 64 in flight', find('ed25519', 64)?.perSecond, 600);
  const alone = find('ecdsa', 1);
  if (alone !== undefined) {
    const { p50 } = alone.latency;
    targets.push({
      name: 'mock ECDSA through REST, 1 in flight',
      aim: 'p50 under 4 ms',
      got: `${p50} ms`,
      met: p50 < 4,
    });
  }
  rate('DKG, best phase', dkg.length === 0 ? undefined : Math.max(...dkg.map((phase) => phase.perSecond)), 100);
  const nodes = Object.entries(memory).filter(([name]) => name.startsWith('node-'));
  if (nodes.length > 0) {
    const largest = Math.max(...nodes.map(([, { rss }]) => rss)) / mib;
    targets.push({
      name: 'memory of a node',
      aim: 'under 80 MiB',
      got: `${largest.toFixed(1)} MiB`,
      met: largest < 80,
    });
  }
  return targets;
}
