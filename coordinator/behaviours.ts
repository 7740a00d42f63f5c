/** Every kind of actor that a coordinator runs; the same list in the live process and in the simulated world. */
import type { Behaviour } from '../core/actors/contract.ts';
import { defaultSharing } from '../proto/roster.ts';
import { callRouterBehaviour } from './call-router.ts';
import { clusterBehaviour } from './cluster/cluster.ts';
import type { SessionConfig } from './contract/config.ts';
import type { CoordinatorMessage, CoordinatorRecord, CoordinatorWrite } from './contract/messages.ts';
import { dkgBehaviour } from './dkg/session.ts';
import { expiryBehaviour } from './expiry.ts';
import { keyClosingBehaviour } from './key-closing.ts';
import { readingBehaviour } from './reading.ts';
import { signingBehaviour } from './signing/public.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list of behaviours, each with a state of its own that only it reads
export type CoordinatorBehaviour = Behaviour<any, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;

export function coordinatorBehaviours(config: SessionConfig, cryptoBackend: string): CoordinatorBehaviour[] {
  const { roster, coordinatorBoot, nonceBatchFirst, nodesWaitMs } = config;
  const nodesTotal = roster.nodes.length;
  const quorum = (roster.sharing ?? defaultSharing(nodesTotal)).threshold;
  return [
    callRouterBehaviour(config),
    clusterBehaviour({ nodesTotal, quorum, coordinatorBoot, cryptoBackend, nonceBatchFirst, nodesWaitMs }),
    dkgBehaviour(config),
    signingBehaviour(config),
    keyClosingBehaviour('closing', nodesTotal),
    keyClosingBehaviour('revoking', nodesTotal),
    expiryBehaviour(),
    readingBehaviour(),
  ];
}
