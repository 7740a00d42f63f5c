/**
 * What the coordinator's process measures: it looks at the envelopes that pass its links, at the writes of its store and at
 * what actors emit, and changes nothing but the traceparent of what it passes on. Actors know nothing of it.
 *
 * A call of a gateway is one span, and each round of messages to the nodes is one below it. A round is all messages of one
 * kind to the nodes for one attempt of one session, until each of them is answered or the session answers a call.
 */
import { LRUCache } from 'lru-cache';
import type { ActorEvent, Envelope, Store, Timers } from '../core/actors/contract.ts';
import type { MetricFamily, Span, Telemetry } from '../core/telemetry/port.ts';
import type { WireMessage } from '../proto/wire.ts';
import type { CoordinatorRecord, CoordinatorWrite } from './contract/messages.ts';

const callDuration: MetricFamily<'call' | 'outcome'> = {
  name: 'signmesh_coordinator_call_duration_seconds',
  help: 'From the frame of a call to the frame of its answer, by the kind of call. outcome: answered or error.',
  labels: ['call', 'outcome'],
};
const roundDuration: MetricFamily<'round'> = {
  name: 'signmesh_round_duration_seconds',
  help: 'From the first message of a round to the nodes to the last answer, by the kind of message.',
  labels: ['round'],
};
const writeDuration: MetricFamily<'write' | 'outcome'> = {
  name: 'signmesh_session_store_write_duration_seconds',
  help: 'Writes of sessions and keys to Redis. outcome: written, conflict or unavailable.',
  labels: ['write', 'outcome'],
};
const sessionChanges: MetricFamily<'type' | 'reason_code'> = {
  name: 'signmesh_session_changes_total',
  help: 'Durable changes of sessions, by the type of their event and their reason code.',
  labels: ['type', 'reason_code'],
};
const actorEvents: MetricFamily<'type'> = {
  name: 'signmesh_actor_events_total',
  help: 'What actors emitted, by type: node.ready, node.away, node.suspected, signing.node_refused, ...',
  labels: ['type'],
};
const deadLetters: MetricFamily<'cause'> = {
  name: 'signmesh_dead_letters_total',
  help: 'Messages that no actor took, by cause.',
  labels: ['cause'],
};
const frames: MetricFamily<'direction' | 'message'> = {
  name: 'signmesh_frames_total',
  help: 'Frames over the links of this process, by direction and kind of message.',
  labels: ['direction', 'message'],
};
const unaskedFrames: MetricFamily<'node' | 'message'> = {
  name: 'signmesh_unasked_frames_total',
  help: 'Frames that a node sent without a request, by kind of message: dropped.',
  labels: ['node', 'message'],
};

interface OpenCall {
  readonly name: string;
  readonly sinceMs: number;
  readonly span: Span;
}

interface OpenRound extends OpenCall {
  /** Of the call: what actors go on with. */
  readonly parent: string;
  readonly attempt: number;
  asked: number;
  answered: number;
  lastAnswerMs: number;
}

/** By kind of message. */
type Rounds = Map<string, OpenRound>;

/** Which messages answer which. `dkgRefused` answers any. */
const answersTo: Readonly<Record<string, string>> = {
  partialReply: 'partialRequest',
  keyDeleted: 'deleteKey',
  dkgOpened: 'dkgOpen',
  dkgSealed: 'dkgSeal',
  dkgVerified: 'dkgVerify',
  dkgConfirmed: 'dkgConfirm',
};

/** Beyond these the oldest are forgotten unmeasured: their calls were given up, or their nodes are silent. */
const callsMax = 16_384;
const sessionsMax = 16_384;

export class CoordinatorTelemetry {
  readonly #tracer: Telemetry['tracer'];
  readonly #timers: Timers;
  readonly #calls = new LRUCache<string, OpenCall>({ max: callsMax, dispose: ({ span }) => span.end() });
  readonly #rounds = new LRUCache<string, Rounds>({
    max: sessionsMax,
    dispose: (rounds) => {
      for (const round of rounds.values()) this.#end(round);
    },
  });
  readonly #observeCall;
  readonly #observeRound;
  readonly #observeWrite;
  readonly #countChange;
  readonly #countEvent;
  readonly #countDeadLetter;
  readonly #countFrame;
  readonly #countUnasked;

  constructor({ metrics, tracer }: Telemetry, timers: Timers) {
    this.#tracer = tracer;
    this.#timers = timers;
    this.#observeCall = metrics.histogram(callDuration);
    this.#observeRound = metrics.histogram(roundDuration);
    this.#observeWrite = metrics.histogram(writeDuration);
    this.#countChange = metrics.counter(sessionChanges);
    this.#countEvent = metrics.counter(actorEvents);
    this.#countDeadLetter = metrics.counter(deadLetters);
    this.#countFrame = metrics.counter(frames);
    this.#countUnasked = metrics.counter(unaskedFrames);
  }

  /** Of a frame that came in: what is delivered in its place. */
  received(envelope: Envelope<WireMessage>): Envelope<WireMessage> {
    const { from, message, trace } = envelope;
    const { body } = message;
    this.#countFrame({ direction: 'in', message: body.case ?? 'none' });
    if (from.startsWith('node/')) {
      return this.#answered(envelope);
    }
    if (body.case !== 'call') return envelope;
    const name = body.value?.request?.case ?? 'none';
    const span = this.#tracer.start(name, 'server', trace.traceparent, { 'signmesh.tenant': message.tenant ?? '' });
    this.#calls.set(callKey(from, body.value?.callId), { name, sinceMs: this.#timers.elapsedMs(), span });
    return retraced(envelope, span.traceparent);
  }

  /** Of a frame that node-frames.ts dropped. */
  unasked({ from, message }: Envelope<WireMessage>): void {
    this.#countUnasked({ node: from.split('/')[1] ?? '', message: message.body.case ?? 'none' });
  }

  /** Of a frame that is about to leave: what leaves in its place. */
  sending(envelope: Envelope<WireMessage>): Envelope<WireMessage> {
    const { to, message, trace } = envelope;
    const { body } = message;
    this.#countFrame({ direction: 'out', message: body.case ?? 'none' });
    if (to.startsWith('node/')) {
      if (!message.session) return envelope;
      return retraced(envelope, this.#asked(message, trace.traceparent).traceparent);
    }
    if (body.case === 'callReply') {
      const outcome = body.value?.outcome;
      this.#replied(callKey(to, body.value?.callId), outcome?.case === 'error');
      const { receipt } = (outcome?.value ?? {}) as { readonly receipt?: { readonly sessionId?: string } };
      if (receipt?.sessionId) this.#rounds.delete(`${message.tenant}/${receipt.sessionId}`);
    }
    return envelope;
  }

  event({ type }: ActorEvent): void {
    this.#countEvent({ type });
  }

  deadLetter(cause: string): void {
    this.#countDeadLetter({ cause });
  }

  store<S extends Store<CoordinatorWrite, CoordinatorRecord>>(store: S): Store<CoordinatorWrite, CoordinatorRecord> {
    return {
      load: (key) => store.load(key),
      write: (write) => {
        const sinceMs = this.#timers.elapsedMs();
        const done = (outcome: string) => {
          this.#observeWrite({ write: write.kind, outcome }, (this.#timers.elapsedMs() - sinceMs) / 1000);
          if (outcome === 'written') this.#changed(write);
        };
        return store.write(write).then(
          (outcome) => {
            done(outcome.kind);
            return outcome;
          },
          (error: unknown) => {
            done('unavailable');
            throw error;
          },
        );
      },
    };
  }

  #changed(write: CoordinatorWrite): void {
    if (write.kind === 'closeKey' || !write.event) return;
    this.#countChange({ type: write.event.type, reason_code: write.session.reasonCode });
  }

  #replied(key: string, isError: boolean): void {
    const call = this.#calls.get(key);
    if (call === undefined) return;
    const { name, sinceMs, span } = call;
    this.#observeCall(
      { call: name, outcome: isError ? 'error' : 'answered' },
      (this.#timers.elapsedMs() - sinceMs) / 1000,
    );
    span.end(isError ? { error: 'call_error' } : {});
    this.#calls.delete(key);
  }

  #asked(message: WireMessage, parent: string): Span {
    const name = message.body.case ?? 'none';
    const attempt = message.attempt ?? 0;
    const key = sessionKey(message);
    const rounds = this.#rounds.get(key) ?? new Map<string, OpenRound>();
    const open = rounds.get(name);
    if (open?.attempt === attempt) {
      open.asked += 1;
      return open.span;
    }
    if (open !== undefined) this.#end(open);
    const sinceMs = this.#timers.elapsedMs();
    const span = this.#tracer.start(`round ${name}`, 'client', parent, { 'signmesh.attempt': attempt });
    rounds.set(name, { ...{ name, parent, attempt, sinceMs, span }, asked: 1, answered: 0, lastAnswerMs: sinceMs });
    if (rounds.size === 1) this.#rounds.set(key, rounds, { noDisposeOnSet: true });
    return span;
  }

  /** What the answer brings about belongs to the call again. */
  #answered(envelope: Envelope<WireMessage>): Envelope<WireMessage> {
    const { message } = envelope;
    const key = sessionKey(message);
    const rounds = this.#rounds.get(key);
    if (rounds === undefined) return envelope;
    const name = message.body.case ?? 'none';
    const round = name === 'dkgRefused' ? [...rounds.values()].at(-1) : rounds.get(answersTo[name] ?? name);
    if (round === undefined || round.attempt !== (message.attempt ?? 0)) return envelope;
    round.answered += 1;
    round.lastAnswerMs = this.#timers.elapsedMs();
    if (round.answered >= round.asked) {
      this.#end(round);
      rounds.delete(round.name);
      if (rounds.size === 0) this.#rounds.delete(key);
    }
    return retraced(envelope, round.parent);
  }

  #end({ name, sinceMs, lastAnswerMs, asked, answered, span }: OpenRound): void {
    if (answered > 0) this.#observeRound({ round: name }, (lastAnswerMs - sinceMs) / 1000);
    span.end({
      ...(answered < asked && { error: 'nodes_silent' }),
      attributes: { 'signmesh.nodes_asked': asked, 'signmesh.nodes_answered': answered },
    });
  }
}

function callKey(gateway: string, callId: bigint | undefined): string {
  return `${gateway}|${callId}`;
}

function sessionKey({ tenant, session }: WireMessage): string {
  return `${tenant}/${session}`;
}

function retraced(envelope: Envelope<WireMessage>, traceparent: string): Envelope<WireMessage> {
  if (traceparent === envelope.trace.traceparent) return envelope;
  return { ...envelope, trace: { ...envelope.trace, traceparent } };
}
