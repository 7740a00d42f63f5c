/**
 * Load control in front of the coordinator's actors: a call of a gateway gets a place (core/actors/admission/), and keeps it until
 * its reply leaves. It answers OVERLOADED to a call that would wait too long, before any actor gets it, so the call has no
 * effect. All other messages (of nodes, of links) pass at once.
 *
 * Calls that begin a session and calls that continue one have separate gates, and an overload refuses the former: refusing the
 * next call of a begun session would waste its work, so it waits.
 *
 * A session begins only while no call of its tenant that continues one waits, and while all calls in progress would finish
 * within `behindMs` at the rate of the last second. When nodes or Redis are slow, this process would otherwise accept more than
 * it finishes without being late itself.
 *
 * The gate drops a call whose deadline passed while it waited here: its gateway has answered it. A call says how long its
 * caller still waits, and the gate counts that by this process's own timers. A place without a reply is freed after
 * `placeMaxMs`, longer than any call may take.
 */
import { GateHost, type GatePlace } from '../core/actors/admission/gate-host.ts';
import type { Address, Envelope, Timers, UndeliveredReason } from '../core/actors/contract.ts';
import { ShortLivedMap } from '../core/actors/short-lived-map.ts';
import { beginsSession, type WireMessage } from '../proto/wire.ts';
import { type CoordinatorMessage, frontAddress, isGateway, receivedBody } from './contract/messages.ts';

export interface CallGateOptions {
  readonly timers: Timers;
  readonly deliver: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  /** Answers the caller with OVERLOADED. */
  readonly refuse: (envelope: Envelope<WireMessage>) => void;
}

interface InHand {
  readonly place: GatePlace;
  readonly gateway: Address;
  readonly sinceMs: number;
}

const placeMaxMs = 150_000;

/** Gateways queue calls themselves: only calls that several gateways send at once wait here. */
const waits = { burstWaitMs: 250, standingAfterMs: 250, standingWaitMs: 50 };
/** Calls that may be in progress at any rate: the first calls after a pause, and calls that wait for nodes. */
const inHandLeast = 256;
const behindMs = 250;
const rateWindowMs = 500;
const gates = {
  begin: { limitStart: 256, limitMin: 32, ...waits },
  continue: { limitStart: 1_024, limitMin: 1_024, burstWaitMs: 5_000, standingAfterMs: 5_000, standingWaitMs: 5_000 },
};

export class CallGate {
  readonly #options: CallGateOptions;
  readonly #host: GateHost<keyof typeof gates>;
  /** By gateway and call, oldest first. */
  readonly #inHand = new ShortLivedMap<string, InHand>();
  /** Calls that ended since then, and the calls a millisecond that ended in the previous window. */
  #ended = 0;
  #endedFromMs = 0;
  #rateBefore = 0;

  constructor(options: CallGateOptions) {
    this.#options = options;
    this.#host = new GateHost({
      timers: options.timers,
      gates: { ...gates, begin: { ...gates.begin, mayStart: (tenant: string) => this.#mayBegin(tenant) } },
    });
  }

  /** Where the links deliver. */
  deliver(envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    const { deliver, refuse, timers } = this.#options;
    const { from, to, message } = envelope;
    const body = receivedBody(message);
    // Without a place: no actor answers such a call.
    if (body.case !== 'call' || to !== frontAddress || !isGateway(from)) return deliver(envelope);
    const key = keyOf(from, body.value.callId);
    const sinceMs = timers.elapsedMs();
    this.#dropOld(sinceMs);
    const waitMaxMs = body.value.leftMs > 0 ? body.value.leftMs : Number.POSITIVE_INFINITY;
    const asked = body.value.request.case;
    this.#host.enter(
      asked !== undefined && beginsSession(asked) ? 'begin' : 'continue',
      message.tenant,
      (place) => {
        if (timers.elapsedMs() - sinceMs >= waitMaxMs) {
          place.leave();
          return;
        }
        // A repeated number: one place for both, since the first reply frees it.
        this.#leave(key);
        this.#inHand.set(key, { place, gateway: from, sinceMs });
        if (deliver(envelope) === undefined) return;
        this.#leave(key);
        refuse(envelope);
      },
      () => refuse(envelope),
    );
    return undefined;
  }

  /** A message leaves: a reply frees the place of its call. */
  sent({ to, message }: Envelope<CoordinatorMessage>): void {
    if (!('body' in message) || message.body.case !== 'callReply') return;
    this.#leave(keyOf(to, message.body.value.callId ?? 0n));
  }

  /** Its calls will get no reply. */
  gatewayGone(gateway: Address): void {
    for (const [key, call] of [...this.#inHand]) if (call.gateway === gateway) this.#leave(key);
  }

  #leave(key: string): void {
    const call = this.#inHand.get(key);
    if (call === undefined) return;
    this.#inHand.delete(key);
    this.#rate();
    this.#ended += 1;
    call.place.leave();
  }

  #mayBegin(tenant: string): boolean {
    if (this.#host.gate('continue').hasWaiting(tenant)) return false;
    return this.#inHand.size < Math.max(inHandLeast, behindMs * this.#rate());
  }

  /** Calls that end a millisecond: the higher of this window and the previous one. */
  #rate(): number {
    const nowMs = this.#options.timers.elapsedMs();
    const tookMs = nowMs - this.#endedFromMs;
    if (tookMs >= rateWindowMs) {
      this.#rateBefore = this.#ended / tookMs;
      this.#ended = 0;
      this.#endedFromMs = nowMs;
      return this.#rateBefore;
    }
    return Math.max(this.#rateBefore, tookMs < 100 ? 0 : this.#ended / tookMs);
  }

  #dropOld(nowMs: number): void {
    for (const [key, { sinceMs }] of this.#inHand) {
      if (nowMs - sinceMs < placeMaxMs) return;
      this.#leave(key);
    }
  }
}

function keyOf(gateway: Address, callId: bigint): string {
  return `${gateway} ${callId}`;
}
