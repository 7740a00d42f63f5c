/**
 * The run's record of its sessions: the real ids behind the scenario's names, resume tokens in order of arrival, and the released
 * signatures. One book a run, shared by all its clients.
 */

import { deriveTweak, parsePath } from '../../core/crypto/derivation.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { ownerSignatureBytes } from '../../core/crypto/owner-ecdsa.ts';
import { type Polynomial, randomPolynomial } from '../../core/crypto/polynomial.ts';
import type { SignatureVerifier } from '../../simulation/cluster/invariants/verifier.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import type { CheckedScenario, ScenarioStep } from './format.ts';
import type { StepAnswer } from './outcome.ts';
import { messageBytes, schemesOf } from './signatures.ts';

export type DkgScenarioStep = Extract<ScenarioStep, { call: 'initiate_dkg' | 'make_key' }>;
export type SigningScenarioStep = Extract<ScenarioStep, { call: 'initiate_signing' | 'sign' }>;

export interface SessionNote {
  readonly name: string;
  readonly kind: 'key' | 'signature';
  /** The real id; undefined while no answer has named it. */
  id: string | undefined;
  /** Distinct tokens, in order of arrival. */
  readonly tokens: string[];
  last: StepAnswer | undefined;
}

export interface KeyTerms {
  readonly curve: Curve;
  readonly threshold: number;
  readonly totalNodes: number;
  /** Every node has its own key, and the signature joins those of several owners. */
  readonly owners: boolean;
}

/** Both in hex. */
interface PublicKey {
  readonly publicKey: string;
  readonly chainCode: string;
}

export class SessionBook {
  readonly #scenario: CheckedScenario;
  readonly #notes = new Map<string, SessionNote>();
  readonly #keys = new Map<string, DkgScenarioStep>();
  readonly #signings = new Map<string, SigningScenarioStep>();
  /** By real session id, then by signature in hex. */
  readonly #released = new Map<string, Map<string, Uint8Array>>();
  /** The step that opened a session, where an answer said so. */
  readonly #openers = new Map<string, SigningScenarioStep>();
  readonly #polynomials = new Map<string, Polynomial>();
  readonly #publicKeys = new Map<string, PublicKey>();

  constructor(scenario: CheckedScenario, idOf: (name: string) => string) {
    this.#scenario = scenario;
    for (const step of Object.values(scenario.clients).flat()) {
      if (!('call' in step)) continue;
      if (step.call === 'initiate_dkg' || step.call === 'make_key') {
        if (!this.#keys.has(step.session)) this.#keys.set(step.session, step);
        this.#note(step.session, 'key', idOf(step.session));
      } else if (step.call === 'initiate_signing' || step.call === 'sign') {
        this.#signings.set(step.session, step);
        this.#note(step.session, 'signature', undefined);
      }
    }
  }

  get names(): readonly string[] {
    return [...this.#notes.keys()];
  }

  note(name: string): SessionNote {
    const note = this.#notes.get(name);
    if (note === undefined) throw new Error(`the scenario has no session ${name}`);
    return note;
  }

  /** The terms of the key; where a step omits one, the service's default, within this cluster. */
  terms(name: string): KeyTerms {
    return termsOf(this.#keys.get(name)!, this.#scenario.cluster.nodes);
  }

  /** The step that begins a signing session. */
  signing(name: string): SigningScenarioStep {
    return this.#signings.get(name)!;
  }

  /** The message of a signing session. */
  message(step: SigningScenarioStep): Uint8Array {
    return messageBytes(this.terms(step.key).curve, step.message ?? intentOf(step));
  }

  /** The polynomial of a client-supplied dealer: the same for the whole run. */
  polynomial(name: string, dealer: number): Polynomial {
    const label = `played/${name}/${dealer}`;
    const known = this.#polynomials.get(label);
    if (known !== undefined) return known;
    const { curve, threshold } = this.terms(name);
    // The service refuses a bad threshold; the dealt values do not matter then.
    const made = randomPolynomial(
      curve,
      Math.min(100, Math.max(2, threshold)),
      randomStream(this.#scenario.cluster.seed, label),
    );
    this.#polynomials.set(label, made);
    return made;
  }

  /** Records an answer about a session. `opener`: the step that asked for it, if it asked for a signature. */
  learn(name: string, answer: StepAnswer, opener?: SigningScenarioStep): void {
    const note = this.note(name);
    note.last = answer;
    if (note.kind === 'signature' && answer.sessionId !== '') note.id = answer.sessionId;
    if (answer.resumeToken !== '' && note.tokens.at(-1) !== answer.resumeToken) note.tokens.push(answer.resumeToken);
    if (opener !== undefined && answer.reasonCode !== 'DUPLICATE_INTENT' && answer.sessionId !== '') {
      this.#openers.set(answer.sessionId, opener);
    }
    const { signature, sessionId } = answer;
    if (signature === undefined || signature.length === 0) return;
    const all = this.#released.get(sessionId) ?? new Map<string, Uint8Array>();
    all.set(Buffer.from(signature).toString('hex'), signature);
    this.#released.set(sessionId, all);
  }

  /** The number of distinct released signatures, of one session or of all. */
  signatureCount(name?: string): number {
    const id = name === undefined ? undefined : this.note(name).id;
    if (name !== undefined) return id === undefined ? 0 : (this.#released.get(id)?.size ?? 0);
    return [...this.#released.values()].reduce((sum, all) => sum + all.size, 0);
  }

  /** Keys with released signatures: no answer contains the public key. */
  usedKeys(): readonly string[] {
    if (this.#released.size === 0) return [];
    const names = [...this.#signings.values()].map(({ key }) => key);
    return [...new Set(names)];
  }

  learnKey(name: string, key: PublicKey): void {
    if (key.publicKey !== '') this.#publicKeys.set(name, key);
  }

  /** The fault of the released signatures; undefined: they are valid. */
  wrongSignature(verify: SignatureVerifier): string | undefined {
    for (const [id, all] of this.#released) {
      const asked = this.#askedFor(id);
      // A session that a rolled-back Redis has open again may sign its message once more.
      if (all.size > 1 && !rollsRedisBack(this.#scenario))
        return `session ${asked[0]?.session ?? id} released ${all.size} different signatures`;
      for (const released of all.values()) {
        if (!asked.some((step) => this.#verifies(step, released, verify))) {
          return `the signature of session ${asked[0]?.session ?? id} does not verify for what was to be signed`;
        }
      }
    }
    return undefined;
  }

  /** The steps that may have opened a session: the known opener, or the steps with its intent. */
  #askedFor(id: string): readonly SigningScenarioStep[] {
    const opener = this.#openers.get(id);
    if (opener !== undefined) return [opener];
    const named = [...this.#signings.values()].filter(({ session }) => this.note(session).id === id);
    const intents = new Set(named.map(intentOf));
    return [...this.#signings.values()].filter((step) => intents.has(intentOf(step)));
  }

  #verifies(step: SigningScenarioStep, signature: Uint8Array, verify: SignatureVerifier): boolean {
    const { curve, owners } = this.terms(step.key);
    // No answer names the owners' keys: the invariant signature-verifies of the simulated world knows them.
    if (owners) return signature.length > 0 && signature.length % ownerSignatureBytes === 0;
    const key = this.#publicKeys.get(step.key);
    // A rolled-back Redis may have forgotten the key: the invariant signature-verifies knows it.
    if (key === undefined) return rollsRedisBack(this.#scenario);
    const signed = { publicKey: keyAt(step.path ?? '', curve, key), message: this.message(step), signature };
    return schemesOf(curve, step.keystore).some((scheme) => verify({ scheme, ...signed }));
  }

  #note(name: string, kind: SessionNote['kind'], id: string | undefined): void {
    if (!this.#notes.has(name)) this.#notes.set(name, { name, kind, id, tokens: [], last: undefined });
  }
}

function rollsRedisBack({ faults, clients }: CheckedScenario): boolean {
  const injected = Object.values(clients)
    .flat()
    .flatMap((step) => ('inject' in step ? [step.inject] : []));
  return [...faults, ...injected].some(
    (fault) => fault.fault === 'rollback' && [fault.target].flat().includes('coordinator'),
  );
}

/** The key below this one that a path names. Its hardened components are those of the key's account. */
function keyAt(path: string, curve: KeyTerms['curve'], key: PublicKey): Uint8Array {
  const publicKey = Buffer.from(key.publicKey, 'hex');
  const { normal } = parsePath(path);
  if (normal.length === 0) return publicKey;
  return deriveTweak({ curve, publicKey, chainCode: Buffer.from(key.chainCode, 'hex'), path: normal }).publicKey;
}

/** The intent of a signing step, by the scenario's own name. */
export function intentOf(step: SigningScenarioStep): string {
  return step.intent ?? step.step;
}

/** With neither given: 3 of 5, or the majority of a smaller cluster. */
export function termsOf(step: DkgScenarioStep, nodes: number): KeyTerms {
  const totalNodes = step.total_nodes ?? Math.min(nodes, 5);
  const threshold = step.threshold ?? Math.max(2, Math.floor(totalNodes / 2) + 1);
  const owners = step.keystore_type === 'MULTISIG_EVM_WALLET';
  return { curve: step.curve ?? 'secp256k1', threshold, totalNodes, owners };
}
