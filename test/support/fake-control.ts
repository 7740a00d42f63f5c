/** A fake, in memory, of the control of processes and of the coordinator's sessions. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { SandboxSessions } from '../../gateway/sandbox/sessions.ts';
import type { Reader, SessionReads } from '../../gateway/signing/session-reads.ts';
import { MakeKeyResponseSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  type InspectSessionResponse,
  InspectSessionResponseSchema,
  PreviewPartialResponseSchema,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { type SessionView, SessionViewSchema } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import {
  ApprovalMode,
  InitiateDkgResponseSchema,
  KeystoreType,
  ReceiptState,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import {
  type ArmedStatus,
  ControlError,
  type ControlFault,
  type ControlGives,
  type ControlMethod,
  type ControlMethods,
  type ControlTakes,
  type NodeStatus,
  type SandboxControl,
  type ScenarioStatus,
  type SnapshotStatus,
  type TranscriptFrame,
} from '../../scenarios/faults/control.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { simulatedOnly } from '../../scenarios/faults/vocabulary/kinds.ts';
import { Recording } from '../../scenarios/injection/recording.ts';
import { StreamSource } from '../../scenarios/injection/stream-source.ts';

type Answers = {
  [M in ControlMethod]: (takes: ControlTakes<M>) => ControlMethods[M]['gives'] | Promise<ControlMethods[M]['gives']>;
};

export class FakeControl implements SandboxControl {
  /** Everything that was asked, oldest first. */
  readonly asked: { readonly method: ControlMethod; readonly takes: unknown }[] = [];
  /** What the next question is refused with. */
  refusal: ControlFault | undefined;
  faults: ArmedStatus[] = [];
  snapshots: SnapshotStatus[] = [];
  frames: TranscriptFrame[] = [];
  events: RunEvent[] = [];
  offsetMs = 0;
  processes: NodeStatus[] = ['node/1', 'node/2', 'node/3', 'coordinator', 'gateway', 'worker', 'redis'].map(
    (process) => ({
      process,
      state: 'running',
      pid: 42,
      restarts: 0,
      startedMs: Date.now() - 5_000,
      linked: process.startsWith('node/') ? true : null,
      clockOffsetMs: 0,
      residentBytes: 1_000_000,
      cpuMs: 10,
      together: [process],
    }),
  );

  scenario: ScenarioStatus | null = null;
  /** What streams show. */
  readonly recording = new Recording(1_000);
  readonly #stream = new StreamSource({
    ...{ recording: this.recording, beganMs: 1_700_000_000_000 },
    about: { world: 'process', clusters: [{ number: 1, threshold: 3, nodes: 5 }] },
    processes: () => this.processes,
    faults: () => this.faults,
    scenario: () => this.scenario,
  });

  async ask<M extends ControlMethod>(method: M, takes: ControlTakes<M>): Promise<ControlGives<M>> {
    this.asked.push({ method, takes });
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal !== undefined) throw new ControlError(refusal);
    return this.#answers[method](takes);
  }

  /** The last question of a method. */
  lastOf(method: ControlMethod): unknown {
    return this.asked.findLast((question) => question.method === method)?.takes;
  }

  readonly #answers: Answers = {
    'faults.create': ({ fault, expiresInMs }) => {
      if (simulatedOnly[fault.fault] !== undefined)
        throw new ControlError({ code: 'unsupported', message: 'not live' });
      const id = fault.id ?? `flt-${this.faults.length + 1}`;
      if (this.faults.some((one) => one.id === id)) {
        throw new ControlError({ code: 'conflict', message: `there is a fault ${id}`, field: 'id' });
      }
      const armedMs = Date.now();
      const expiresMs = armedMs + expiresInMs;
      const made: ArmedStatus = { id, fault, state: 'armed', triggerCount: 0, armedMs, endsMs: null, expiresMs };
      this.faults.push(made);
      return { fault: made };
    },
    'faults.list': () => ({ faults: this.faults }),
    'faults.delete': ({ id }) => {
      const fault = found(this.faults.find((one) => one.id === id));
      this.faults = this.faults.filter((one) => one !== fault);
      return { fault };
    },
    'faults.reset': () => ({ removed: this.faults.splice(0).length }),
    'faults.step': () => ({}),
    'processes.list': () => ({ processes: this.processes }),
    'processes.act': ({ process, action }) => {
      const index = this.processes.findIndex((one) => one.process === process);
      const before = found(this.processes[index]);
      const state = ({ crash: 'down', restart: 'running', pause: 'paused', resume: 'running' } as const)[action];
      const after = { ...before, state, pid: state === 'down' ? null : before.pid };
      this.processes[index] = after;
      return { process: after };
    },
    'transcript.get': ({ session, limit }) => {
      const frames = this.frames.filter((frame) => frame.session === session);
      return { frames: frames.slice(-limit), truncated: frames.length > limit };
    },
    'recording.read': ({ after, limit }) => {
      const events = this.events.slice(after, after + limit);
      const positions = events.map((_, index) => after + index);
      return { events, positions, next: after + events.length, lost: false, beganMs: 1_700_000_000_000 };
    },
    'recording.session': ({ session }) => {
      const events = this.frames.filter((frame) => frame.session === session);
      const positions = events.map((_, index) => index);
      return { events, positions, next: events.length, lost: false, beganMs: 1_700_000_000_000 };
    },
    'stream.read': (takes) => this.#stream.read(takes),
    'receiver.get': () => ({ behaviour: null }),
    'clock.get': () => this.#clock(),
    'clock.advance': ({ byMs }) => {
      this.offsetMs += byMs;
      return this.#clock();
    },
    'snapshots.take': ({ name }) => {
      const snapshot = { id: `snp-${this.snapshots.length + 1}`, name, takenMs: Date.now(), bytes: 1_024 };
      this.snapshots.push(snapshot);
      return { snapshot };
    },
    'snapshots.list': () => ({ snapshots: this.snapshots }),
    'snapshots.restore': ({ id }) => ({ snapshot: found(this.snapshots.find((one) => one.id === id)), tookMs: 12.5 }),
    'snapshots.delete': ({ id }) => {
      const snapshot = found(this.snapshots.find((one) => one.id === id));
      this.snapshots = this.snapshots.filter((one) => one !== snapshot);
      return { snapshot };
    },
    'scenarios.start': ({ file }) => {
      const of = { scenario: file, state: 'running', startedMs: 1_700_000_000_000, endedMs: null } as const;
      this.scenario = { ...of, steps: 1, begun: 0, step: null, cause: '' };
      return { scenario: this.scenario };
    },
    'scenarios.get': () => ({ scenario: this.scenario }),
    'scenarios.end': () => ({ scenario: found(this.scenario ?? undefined) }),
    reset: () => ({ tookMs: 7 }),
  };

  #clock() {
    return { offsetMs: this.offsetMs, nowMs: 1_700_000_000_000 + this.offsetMs };
  }
}

function found<T>(one: T | undefined): T {
  if (one === undefined) throw new ControlError({ code: 'not_found', message: 'there is none of that name' });
  return one;
}

/** Sessions by "tenant/id". */
export class FakeSessions implements SandboxSessions, SessionReads {
  readonly known = new Map<string, InspectSessionResponse>();

  put(tenant: string, sessionId: string, more: MessageInitShape<typeof InspectSessionResponseSchema> = {}): void {
    const session = create(InspectSessionResponseSchema, {
      found: true,
      kind: 'signing',
      state: ReceiptState.ACCEPTED,
      reasonCode: 'SESSION_ACCEPTED',
      message: 'it is accepted',
      epoch: 1n,
      keySession: 'k',
      threshold: 3,
      totalNodes: 5,
      curve: 'secp256k1',
      createdAtEpochMs: 1_700_000_000_000n,
      expiresAtEpochMs: 1_700_000_900_000n,
      ...more,
    });
    this.known.set(`${tenant}/${sessionId}`, session);
  }

  async one({ tenant }: Reader, sessionId: string) {
    const found = this.known.get(`${tenant}/${sessionId}`);
    return found && viewOf(sessionId, found);
  }

  async page({ tenant }: Reader) {
    const own = [...this.known].filter(([name]) => name.startsWith(`${tenant}/`));
    return { sessions: own.map(([name, found]) => viewOf(name.slice(tenant.length + 1), found)), next: undefined };
  }

  async inspect({ tenant }: { readonly tenant: string }, sessionId: string) {
    return this.known.get(`${tenant}/${sessionId}`) ?? create(InspectSessionResponseSchema, {});
  }

  async noncePools() {
    return [];
  }

  async beginKey(_: unknown, { sessionId }: { readonly sessionId: string }) {
    const state = ReceiptState.ACCEPTED;
    const receipt = { sessionId, state, reasonCode: 'SESSION_ACCEPTED', message: 'it is accepted' };
    return create(InitiateDkgResponseSchema, { sessionId, state, epoch: 1n, receipt });
  }

  async refreshKey(_: unknown, keyId: string, version: number) {
    const state = ReceiptState.BACKEND_COMPLETED;
    const message = `version ${version} of ${keyId}`;
    return create(MakeKeyResponseSchema, { receipt: { state, reasonCode: 'DKG_COMPLETED', message } });
  }

  async preview({ tenant }: { readonly tenant: string }, sessionId: string, nodeId: number) {
    if (!this.known.has(`${tenant}/${sessionId}`)) {
      return create(PreviewPartialResponseSchema, { reasonCode: 'SESSION_NOT_FOUND', message: 'unknown' });
    }
    if (nodeId > 5) {
      const message = `node_id ${nodeId} is outside 1..5`;
      return create(PreviewPartialResponseSchema, { reasonCode: 'NODE_NOT_PARTICIPANT', message });
    }
    const noncePoint = new Uint8Array(33).fill(2);
    return create(PreviewPartialResponseSchema, { partial: new Uint8Array(32).fill(nodeId), noncePoint, attempt: 1 });
  }
}

function viewOf(sessionId: string, found: InspectSessionResponse): SessionView {
  const { kind, state, reasonCode, message, epoch, curve, createdAtEpochMs, expiresAtEpochMs } = found;
  const times = { createdAtEpochMs, expiresAtEpochMs, changedAtEpochMs: createdAtEpochMs };
  const kinds = { approvalMode: ApprovalMode.DIRECT_ALLOWED, keystoreType: KeystoreType.MOCK_THRESHOLD };
  const about = { sessionId, kind, state, reasonCode, message, epoch, curve, checkpointId: 'ckp_1', keyId: 'k' };
  return create(SessionViewSchema, { ...about, ...kinds, ...times });
}
