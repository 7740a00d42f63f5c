/** A signer node in a trial: requests for partial signatures under the trial's own key, with orders as a gateway would make them. */

import { groupOf } from '../../core/crypto/group.ts';
import { mac } from '../../core/crypto/hashing.ts';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { nodeOrderKey, orderDigest, witnessDigest } from '../../core/crypto/order-macs.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit, WireMessage } from '../../proto/wire.ts';
import { type NodeCopy, wireMessagesOf } from '../../simulation/cluster/node-copy.ts';
import type { KeyParties } from '../support/key-parties.ts';
import { keyKinds } from '../support/key-transcripts.ts';
import { must, oneAnswer, type Trial, trialTenant } from '../support/trial.ts';

export interface Commitment {
  readonly nodeId: number;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
}

export interface Order {
  readonly transactionIntentId: string;
  readonly walletService: boolean;
  readonly keystoreType: number;
  readonly curve: string;
  readonly expiresMs: number;
  readonly needsWitness: boolean;
  /** By default that of these very terms. */
  readonly mac?: Uint8Array;
  /** None by default. */
  readonly witnessMac?: Uint8Array;
}

/** A request, its frame and its order. */
export interface Wanted {
  readonly tenant: string;
  readonly session: string;
  readonly scheme: Scheme;
  readonly keySession: string;
  readonly derivationPath: string;
  readonly message: Uint8Array;
  readonly nonceNumber: bigint;
  readonly nodeBoot: string;
  readonly coordinatorBoot: string;
  readonly signers: readonly Commitment[];
  readonly noncePoint: Uint8Array;
  readonly mockNonceInverse: Uint8Array;
  readonly order: Order | undefined;
}

export type Sent = ReturnType<NodeCopy['settle']>;

/** `code`: of a refusal. `sent`: all that left the process. */
export interface Outcome {
  readonly kind: 'partial' | 'refusal' | 'vendorOrder' | 'silence';
  readonly code: string;
  readonly sent: Sent;
}

const frostSchemes: ReadonlySet<Scheme> = new Set([Scheme.FROST_ED25519, Scheme.FROST_BIP340]);
export const orderLasts = 60_000;

export class Signer {
  readonly copy: NodeCopy;
  readonly id: number;
  readonly parties: KeyParties;
  readonly scheme: Scheme;
  readonly trial: Trial;
  /** The key has a scheme: it was made for one, or has signed. */
  isBound: boolean;
  readonly #orderKey: Uint8Array;
  #intents = 0;
  #tags = 0n;
  #deals = 0n;

  constructor(trial: Trial, parties: KeyParties, id: number, scheme: Scheme) {
    const { roster, nodes } = trial.identities;
    this.trial = trial;
    this.parties = parties;
    this.id = id;
    this.copy = parties.copy(id);
    this.scheme = scheme;
    this.isBound = parties.kind.name !== '';
    this.#orderKey = nodeOrderKey(roster, id, identityFromSeed(nodes[id - 1]!).secretKey);
  }

  get isFrost(): boolean {
    return frostSchemes.has(this.scheme);
  }

  /** Nodes make nonces for the scheme ahead. */
  get isDealt(): boolean {
    return this.isFrost || this.scheme === Scheme.MOCK_ECDSA;
  }

  get curve(): 'secp256k1' | 'ed25519' {
    return this.parties.kind.curve;
  }

  /** The scheme in the key's record. */
  get boundTo(): Scheme {
    const record = this.copy.record(`key/${trialTenant}/${this.parties.session}`);
    const { scheme } = JSON.parse(Buffer.from(record ?? '{}').toString()) as { readonly scheme?: string };
    return keyKinds.find(({ name }) => name === (scheme ?? ''))?.scheme ?? Scheme.UNSPECIFIED;
  }

  mac(digest: Uint8Array): Uint8Array {
    return mac(this.#orderKey, digest);
  }

  witnessFor(session: string, tenant: string = trialTenant): Uint8Array {
    return this.mac(witnessDigest({ tenant, sessionId: session }));
  }

  /** The dealt nonces; undefined: no answer. */
  deal(id: number, coordinatorBoot: string, count = 1, request: bigint | undefined = undefined) {
    const copy = this.parties.copy(id);
    this.#deals += 1n;
    const value = { scheme: this.scheme, count, coordinatorBoot, request: request ?? this.#deals };
    const answers = copy.ask(`node/${id}`, { ...frame, body: { case: 'dealNonces', value } as WireBodyInit });
    const body = oneAnswer(copy, answers, 'dealNonces') as
      | { readonly value: { readonly nonces: readonly Dealt[]; readonly nodeBoot: string } }
      | undefined;
    must(body === undefined || body.value.nodeBoot === copy.boot, () => `node ${id} deals nonces of another start`);
    return body?.value.nonces;
  }

  /** The last number of a request for nonces. */
  get deals(): bigint {
    return this.#deals;
  }

  /** A right request for a new intent, with new nonces of all its signers. */
  wanted(): Wanted {
    const { draw } = this.trial;
    const isEd = this.curve === 'ed25519';
    const nonces = this.isDealt ? this.deal(this.id, trialBoot, draw.int(1, 3)) : undefined;
    const own = nonces?.[0];
    must(!this.isDealt || own !== undefined, () => `node ${this.id} deals no nonces`);
    const group = groupOf('secp256k1');
    const isMock = this.scheme === Scheme.MOCK_ECDSA;
    return {
      ...frame,
      session: 'sig_trial',
      scheme: this.scheme,
      keySession: this.parties.session,
      derivationPath: this.parties.isShared ? draw.pick(['', 'm', 'm/1', "m/44'/0"]) : '',
      message: new Uint8Array(isEd ? draw.int(1, 40) : 32).fill(draw.int(1, 255)),
      nonceNumber: own?.number ?? 0n,
      nodeBoot: own ? this.copy.boot : '',
      coordinatorBoot: own ? trialBoot : '',
      signers: this.isFrost ? this.parties.ids.map((id) => this.#commitmentOf(id, own!)) : [],
      noncePoint: isMock ? group.baseMultiply(BigInt(draw.int(2, 1_000_000))) : new Uint8Array(0),
      mockNonceInverse: isMock ? group.encodeScalar(BigInt(draw.int(2, 1_000_000))) : new Uint8Array(0),
      order: this.order(),
    };
  }

  #commitmentOf(nodeId: number, own: Dealt): Commitment {
    const { hiding, binding } = nodeId === this.id ? own : this.deal(nodeId, trialBoot)![0]!;
    return { nodeId, hiding, binding };
  }

  /** For a new intent, without any wish of the caller. */
  order(): Order {
    this.#intents += 1;
    const transactionIntentId = `${this.parties.session}-${this.id}-${this.#intents}`;
    const none = { keystoreType: 0, curve: '', needsWitness: false };
    return { ...none, transactionIntentId, walletService: false, expiresMs: this.copy.nowMs + orderLasts };
  }

  /** The same request, with a nonce of its own. */
  again(wanted: Wanted): Wanted {
    const { nonceNumber, nodeBoot, coordinatorBoot, signers } = this.wanted();
    return { ...wanted, nonceNumber, nodeBoot, coordinatorBoot, signers };
  }

  frameOf(wanted: Wanted): WireMessage {
    const { tenant, session, order, ...request } = wanted;
    this.#tags += 1n;
    const signed = order && {
      ...{ transactionIntentId: order.transactionIntentId, walletService: order.walletService },
      ...{ keystoreType: order.keystoreType, curve: order.curve, needsWitness: order.needsWitness },
      expiresEpochMs: BigInt(order.expiresMs),
      mac: order.mac ?? this.macOf(wanted, order),
      witnessMac: order.witnessMac ?? new Uint8Array(0),
    };
    const value = {
      ...request,
      signers: [...request.signers],
      attemptTag: this.#tags,
      ...(signed && { order: signed }),
    };
    return { tenant, session, attempt: 1, body: { case: 'partialRequest', value } as WireBodyInit };
  }

  macOf(wanted: Wanted, order: Order): Uint8Array {
    const { tenant, session: sessionId, keySession: keyId, derivationPath, message } = wanted;
    const { keystoreType, curve, transactionIntentId: intentId, walletService, needsWitness, expiresMs } = order;
    const terms = { tenant, sessionId, keyId, keystoreType, curve, derivationPath, message, intentId };
    return this.mac(orderDigest({ ...terms, walletService, needsWitness, expiresMs }));
  }

  ask(wanted: Wanted): Outcome {
    return this.outcome(this.copy.tell(`node/${this.id}`, this.frameOf(wanted)));
  }

  /** What the node answers in these messages: one reply at most. */
  outcome(sent: Sent): Outcome {
    const messages = wireMessagesOf(sent);
    oneAnswer(this.copy, messages, 'partialRequest');
    return this.outcomes(sent)[0] ?? { kind: 'silence', code: '', sent };
  }

  /** By message: partial replies, and what a vendor decided. */
  outcomes(sent: Sent): Outcome[] {
    return wireMessagesOf(sent).map(({ body }) => {
      const { outcome } = (body as Reply).value;
      if (outcome.case !== 'refusal') return { kind: outcome.case, code: '', sent };
      return { kind: 'refusal', code: PartialRefusalCode[outcome.value.code] ?? '', sent };
    });
  }

  refused(wanted: Wanted, code: string, what: string): void {
    const { writes } = this.copy;
    writes.length = 0;
    const { kind, code: given, sent } = this.ask(wanted);
    must(
      given === code,
      () => `node ${this.id} is asked for a partial (${what}), and gives ${given || kind}, not ${code}`,
    );
    must(writes.length === 0 && sent.length === 1, () => `node ${this.id} refuses a partial (${what}), and acts on it`);
  }
}

type Reply = {
  readonly value: {
    readonly outcome:
      | { readonly case: 'partial' | 'vendorOrder' }
      | { readonly case: 'refusal'; readonly value: { readonly code: PartialRefusalCode } };
  };
};
interface Dealt {
  readonly number: bigint;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
}

export const trialBoot = 'coordinator#trial';
const frame = { tenant: trialTenant, session: '', attempt: 0 } as const;
