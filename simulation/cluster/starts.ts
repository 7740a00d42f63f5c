/**
 * Every start of a process with actors: its configuration, its stream of randomness, its store with the faults on the way to it,
 * and its observers.
 */

import type { SessionConfig } from '../../coordinator/contract/config.ts';
import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { ActorEvent, Address, Envelope, RandomBytes, WriteOutcome } from '../../core/actors/contract.ts';
import { safeErrorText } from '../../core/actors/error-text.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import type { NodeIdentity } from '../../nodes/behaviours.ts';
import { type NodeRecord, type NodeWrite, vendorRecordName } from '../../nodes/records/records.ts';
import { vendorNews } from '../../nodes/vendor/routing.ts';
import { dkgLifetimeMs, nodesWaitMs, pendingLifetimeMs, signingLifetimeMs } from '../../proto/limits.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { FaultService } from './fault-service.ts';
import { strangeStore } from './faulty-store.ts';
import {
  type CoordinatorMachine,
  coordinatorMachine,
  type MemberPorts,
  type NodeMachine,
  nodeMachine,
} from './members.ts';
import { type MemoryCoordinatorStore, type MemoryNodeStore, unreliableStore } from './memory-stores.ts';
import type { SimulatedNetwork } from './network.ts';
import type { Bug, SimOptions } from './options.ts';
import type { Processes } from './processes.ts';
import type { Recorder } from './recorder.ts';
import { called, type RedisReach } from './store-side.ts';
import type { SimToken } from './token.ts';
import type { SimVendor } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

type CoordinatorPorts = MemberPorts<CoordinatorWrite, CoordinatorRecord>;

/** The parts of the world that a process uses. */
export interface StartParts {
  readonly time: VirtualTime;
  readonly roster: Roster;
  readonly identities: readonly Uint8Array[];
  readonly nodeStores: readonly MemoryNodeStore[];
  /** The nodes' PKCS#11 tokens. */
  readonly tokens: readonly SimToken[];
  readonly vendor: SimVendor;
  readonly coordinatorStore: MemoryCoordinatorStore;
  readonly redis: RedisReach;
  readonly recorder: Recorder;
  readonly processes: Processes;
  readonly network: SimulatedNetwork;
  readonly faultService: FaultService;
  readonly random: (label: string) => RandomBytes;
  readonly events: { readonly address: Address; readonly event: ActorEvent }[];
  readonly bugs: Bug[];
}

export class Starts {
  readonly #options: SimOptions;
  readonly #parts: StartParts;

  constructor(options: SimOptions, parts: StartParts) {
    this.#options = options;
    this.#parts = parts;
  }

  coordinator(boot: string, send: CoordinatorPorts['send']): CoordinatorMachine {
    const { readyMade } = this.#options;
    const config: SessionConfig = {
      resumeKey: this.#parts.random('resume-key')(32),
      lifetimes: { signingMs: signingLifetimeMs, pendingMs: pendingLifetimeMs, dkgMs: dkgLifetimeMs },
      nodesWaitMs,
      partialTimeoutMs: 2000,
      sandbox: true,
      // Few, since most worlds make only a handful of signatures.
      nonceBatchFirst: 1,
      ...this.#options.config,
      roster: this.#parts.roster,
      coordinatorBoot: boot,
      ...(readyMade !== undefined && { readyMade }),
    };
    const { observe, onCoordinatorWrite = () => 'answered' } = this.#options;
    const fence = this.#parts.processes.startsOf('coordinator');
    const { faultService } = this.#parts;
    const { number = firstCluster, external } = this.#options;
    const own = this.#parts.coordinatorStore.as(fence, number);
    const store = strangeStore(own, (what) => faultService.storeShows(what));
    const { clusterId } = this.#parts.roster;
    const ports = this.#ports('coordinator', boot, {
      store:
        external?.sessions?.(number, fence, { clusterId, resumeKey: config.resumeKey }) ??
        called(this.#options.onCoordinatorWrite ? unreliableStore(store, onCoordinatorWrite) : store),
      send,
      wrote:
        observe &&
        ((write: CoordinatorWrite, outcome: WriteOutcome<CoordinatorRecord>['kind']) =>
          observe({ kind: 'written', atMs: this.#parts.recorder.atMs, process: 'coordinator', boot, write, outcome })),
    });
    const { cryptoBackend, mailboxMax } = this.#options;
    return coordinatorMachine(config, this.#parts.redis, ports, cryptoBackend, mailboxMax);
  }

  node(id: number, boot: string): NodeMachine {
    const { observe, onNodeWrite } = this.#options;
    const store = this.#parts.nodeStores[id - 1]!;
    const process = `node/${id}` as const;
    const ports = this.#ports(process, boot, {
      store: called(onNodeWrite ? unreliableStore(store, (write) => onNodeWrite(id, write)) : store),
      send: (envelope: Envelope<WireMessage>) => this.#parts.network.send(process, 'out', envelope),
      wrote:
        observe &&
        ((write: NodeWrite, outcome: WriteOutcome<NodeRecord>['kind']) =>
          observe({ kind: 'written', atMs: this.#parts.recorder.atMs, process, write, outcome })),
    });
    const machine = nodeMachine(
      { ...this.#identity(id), boot },
      this.#parts.tokens[id - 1]!,
      this.#parts.vendor.portOf(id),
      ports,
    );
    for (const key of this.#parts.nodeStores[id - 1]!.snapshot().keys()) {
      const name = vendorRecordName(key);
      if (name) machine.deliver(vendorNews(id, name.tenant, name.reference));
    }
    return machine;
  }

  #identity(id: number): Omit<NodeIdentity, 'boot'> {
    const { roster, identities } = this.#parts;
    const allowClientDealers = this.#options.clientDealers?.(id) ?? true;
    const { readyMade } = this.#options;
    const sandbox = readyMade && {
      tenant: readyMade.tenant,
      sessions: readyMade.sessions,
      seed: readyMade.seedOf(id),
    };
    return { nodeId: id, roster, identitySeed: identities[id - 1]!, allowClientDealers, sandbox };
  }

  #ports<W, R>(
    process: ProcessName,
    boot: string,
    own: Pick<MemberPorts<W, R>, 'store' | 'send' | 'wrote'>,
  ): MemberPorts<W, R> {
    const { recorder, faultService, processes, events } = this.#parts;
    const hasTrace = this.#options.keepTrace !== false;
    return {
      time: this.#parts.time,
      nowMs: () => processes.nowMs(process),
      random: this.#parts.random(boot),
      emit: (address: Address, event: ActorEvent) => {
        if (hasTrace) events.push({ address, event });
        recorder.emitted(process, address, event);
      },
      stepped: recorder.record && ((address: Address, state: unknown) => recorder.stepped(address, state)),
      bug:
        this.#options.onBug === 'record'
          ? (address: Address, error: unknown) => this.#bug(process, address, error)
          : undefined,
      verdict: () => faultService.write(process),
      readsFail: () => faultService.readsFail(process),
      store: own.store,
      send: own.send,
      wrote: own.wrote,
    };
  }

  #bug(process: ProcessName, address: Address, error: unknown): void {
    const text = safeErrorText(error);
    this.#parts.bugs.push({ address, text });
    this.#parts.recorder.bug(process, address, text);
  }
}
