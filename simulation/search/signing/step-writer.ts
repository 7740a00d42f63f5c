/** Writes the steps of one random client. Step and session names are unique in the scenario. */
import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { OwnKeystore } from '../../../scenarios/runner/terms.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';

export type Wish<K> = K extends { step: string } ? Omit<K, 'step'> : never;

/** A key of the scenario. */
export interface KeyPlan {
  readonly session: string;
  readonly threshold: number;
  readonly totalNodes: number;
  readonly curve: 'secp256k1' | 'ed25519';
  /** The scheme of its clients' signatures: a key has one. */
  readonly keystore: 'MOCK_THRESHOLD' | 'MPC_FROST';
  /** A key that nodes do not share; undefined: a shared one. */
  readonly ownType: OwnKeystore | undefined;
  /** Client-supplied dealers; the client gives all their shares, where the nodes allow it. */
  readonly supplied: readonly number[];
  /** The wallet service makes it, and signs with it in one call. */
  readonly wallet: boolean;
  /** The wallet service closes it at some time. */
  readonly closes: boolean;
}

/** The terms of a client's signature with a key. */
export type SigningTerms = Pick<
  Extract<ScenarioStep, { call: 'sign' }>,
  'key' | 'keystore' | 'path' | 'approval' | 'message'
>;

/** A signing session that a client begins, and its key. */
export interface BusySession {
  readonly session: string;
  readonly key: KeyPlan;
}

export class StepWriter {
  readonly name: string;
  readonly swarm: Swarm;
  readonly draw: Draw;
  /** How long signing sessions live, where that is short. */
  readonly #lifetimeMs: number | undefined;
  readonly #steps: ScenarioStep[] = [];
  readonly #sessions: { readonly session: string; readonly patient: boolean; readonly key: KeyPlan | undefined }[] = [];

  constructor(name: string, swarm: Swarm, draw: Draw, lifetimeMs: number | undefined) {
    this.#lifetimeMs = lifetimeMs;
    this.name = name;
    this.swarm = swarm;
    this.draw = draw;
  }

  get steps(): readonly ScenarioStep[] {
    return this.#steps;
  }

  /** The sessions that it began. */
  get sessions(): BusySession[] {
    return this.#sessions.flatMap(({ session, key }) => (key === undefined ? [] : [{ session, key }]));
  }

  /** The sessions that it completes after healing. */
  get patientSessions(): string[] {
    return this.#sessions.flatMap(({ session, patient }) => (patient ? [session] : []));
  }

  add(wish: Wish<ScenarioStep>): void {
    this.#steps.push({ step: `${this.name}-${this.#steps.length + 1}`, ...wish } as ScenarioStep);
  }

  /** The name of a new session with this key. */
  session(key: KeyPlan, patient: boolean): string {
    const session = `${this.name}-sig-${this.#sessions.length + 1}`;
    this.#sessions.push({ session, patient, key });
    return session;
  }

  terms({ session, keystore, ownType }: KeyPlan): SigningTerms {
    const { draw } = this;
    // Such a key has no derivation, and its record names its type.
    if (ownType !== undefined) return { key: session };
    // The first call that leaves it unspecified would bind the key to mock ECDSA.
    const named = keystore === 'MPC_FROST' || draw.chance(0.3);
    return {
      key: session,
      ...(named && { keystore }),
      ...(draw.chance(0.3) && { path: draw.pick(['m', 'm/0', 'm/7/2', "m/44'/0'/0'/1"]) }),
      ...(draw.chance(0.1) && { approval: 'DIRECT_ALLOWED' as const }),
      // Longer than a digest, or than the limit of a message in memory.
      ...(draw.chance(0.08) && { message: `${this.name} ${'long '.repeat(draw.pick([10, 300]))}` }),
    };
  }

  mayWait(): void {
    const { draw } = this;
    const { phaseMs, clocksJump } = this.swarm;
    if (clocksJump && draw.chance(0.05)) {
      this.add({ advance_ms: draw.pick([60_000, 700_000, 1_000_000]) });
      return;
    }
    // Calls at the very end of a lifetime; each way takes a millisecond or two.
    if (this.#lifetimeMs !== undefined && draw.chance(0.3)) {
      this.add({ wait: { ms: this.#lifetimeMs - draw.int(0, 8) } });
      return;
    }
    if (draw.chance(0.6)) this.add({ wait: { ms: draw.pick([1, 5, 30, Math.floor(phaseMs / 4)]) } });
  }
}
