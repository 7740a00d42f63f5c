/**
 * The handshake of a fresh link, both sides, as machines without I/O: Challenge → Hello → Welcome or Refused (docs/wire.md). A
 * peer proves that it knows the cluster's join secret and that it is the roster's node or gateway; the coordinator then proves
 * its own identity in the same way. Both proofs cover one transcript with a fresh nonce of each side, so that a recording
 * cannot be replayed; over TLS the transcript contains the channel binding, so that messages cannot be relayed from one TLS
 * connection into another.
 *
 * Invariants: a machine handles one step of the other side at a time and no step twice; it answers every input with a verdict
 * and never throws; a refusal never reveals which secret part failed.
 */
import type { Address } from '../contract.ts';
import { type LinkIdentity, nonceBytes, proofHolds, prove, transcriptDigest } from './handshake-crypto.ts';
import type { Channel } from './link-tls.ts';
import { type Challenge, type HandshakeCodec, type Hello, roleGateway, roleNode } from './wire-port.ts';

/** Why a link could not be established. */
export const refusalCodes = Object.freeze([
  'PROTOCOL_VERSION',
  'CLUSTER_MISMATCH',
  'UNKNOWN_PEER',
  'CERTIFICATE_MISMATCH',
  'BAD_PROOF',
  'ID_TAKEN',
  'TOO_OFTEN',
  'MALFORMED',
  'TIMEOUT',
  'TOO_LARGE',
] as const);
export type RefusalCode = (typeof refusalCodes)[number];

export const refusalMessages: Readonly<Record<RefusalCode, string>> = Object.freeze({
  PROTOCOL_VERSION: 'the two sides speak no common version of the wire protocol',
  CLUSTER_MISMATCH: 'the peer belongs to another cluster',
  UNKNOWN_PEER: "the peer's key is not the roster's for this role and id",
  CERTIFICATE_MISMATCH: 'the certificate is not that of this role and id',
  BAD_PROOF: 'the proof of membership does not hold',
  ID_TAKEN: 'a live peer already has this id',
  TOO_OFTEN: 'the peer has opened too many links in a short time',
  MALFORMED: 'not a handshake message, or not the one due',
  TIMEOUT: 'the handshake took too long',
  TOO_LARGE: 'a handshake message is too large',
});

/** No valid handshake message is this large. */
export const handshakeBytesMax = 4096;

/** A boot id goes into addresses and logs. */
const bootPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** A plain link has none. */
const plainBinding = new Uint8Array(0);

export type PeerRole = 'node' | 'gateway';

/** A peer whose proof held. */
export interface Peer {
  /** "node/<id>" or "gateway/<boot>". */
  readonly address: Address;
  readonly role: PeerRole;
  /** 1..n, or 0 for a gateway. */
  readonly nodeId: number;
  /** Fresh for every start of the peer's process. */
  readonly boot: string;
}

export interface ServerHandshakeConfig {
  /** Best first. */
  readonly protocolVersions: readonly number[];
  readonly clusterId: string;
  readonly coordinatorBoot: string;
  /** Secret. */
  readonly joinSecret: Uint8Array;
  readonly identity: LinkIdentity;
  /** The roster's key for a role and id (0 for a gateway), or undefined. */
  readonly peerKey: (role: PeerRole, nodeId: number) => Uint8Array | undefined;
  /** The URI that the peer's certificate must hold, for links over TLS. */
  readonly certificateName?: (role: PeerRole, nodeId: number) => string | undefined;
}

export type HandshakeRefusal = { readonly kind: 'refused'; readonly code: RefusalCode };
export type HelloVerdict =
  | { readonly kind: 'accepted'; readonly peer: Peer; readonly welcome: Uint8Array }
  | HandshakeRefusal;

export interface ServerHandshake {
  /** The first message to the peer. */
  readonly challenge: Uint8Array;
  /** Evaluates the peer's Hello. The caller sends the Welcome once the id is free. */
  receive(bytes: Uint8Array): HelloVerdict;
}

/** `nonce`: 32 fresh bytes. `channel`: of the TLS below; undefined: the link is plain. Throws RangeError on another length. */
export function serverHandshake(
  config: ServerHandshakeConfig,
  codec: HandshakeCodec,
  nonce: Uint8Array,
  channel?: Channel,
): ServerHandshake {
  assertNonce(nonce);
  const challenge: Challenge = {
    protocolVersions: [...config.protocolVersions],
    clusterId: config.clusterId,
    nonce,
    coordinatorBoot: config.coordinatorBoot,
  };
  let evaluated = false;
  return {
    challenge: codec.encodeHandshake({ case: 'challenge', value: challenge }),
    receive(bytes) {
      if (evaluated) return refused('MALFORMED');
      evaluated = true;
      if (bytes.length > handshakeBytesMax) return refused('TOO_LARGE');
      const step = decode(codec, bytes);
      if (step?.case !== 'hello') return refused('MALFORMED');
      return evaluateHello(config, codec, challenge, step.value, channel);
    },
  };
}

function evaluateHello(
  config: ServerHandshakeConfig,
  codec: HandshakeCodec,
  challenge: Challenge,
  hello: Hello,
  channel: Channel | undefined,
): HelloVerdict {
  if (!config.protocolVersions.includes(hello.protocolVersion)) return refused('PROTOCOL_VERSION');
  if (hello.clusterId !== config.clusterId) return refused('CLUSTER_MISMATCH');
  const role = hello.role === roleNode ? 'node' : hello.role === roleGateway ? 'gateway' : undefined;
  if (role === undefined || hello.nonce.length !== nonceBytes || !bootPattern.test(hello.boot)) {
    return refused('MALFORMED');
  }
  const known = role === 'node' || hello.nodeId === 0 ? config.peerKey(role, hello.nodeId) : undefined;
  // Keys are public: an ordinary comparison leaks nothing.
  if (known === undefined || Buffer.compare(known, hello.publicKey) !== 0) return refused('UNKNOWN_PEER');
  if (channel !== undefined) {
    const name = config.certificateName?.(role, hello.nodeId);
    if (name === undefined || !channel.names.includes(name)) return refused('CERTIFICATE_MISMATCH');
  }
  const transcript = transcriptOf(challenge, hello, channel?.binding);
  if (!proofHolds('peer', transcript, config.joinSecret, known, hello)) return refused('BAD_PROOF');
  const address = role === 'node' ? `node/${hello.nodeId}` : `gateway/${hello.boot}`;
  const proof = prove('coordinator', transcript, config.joinSecret, config.identity);
  return {
    kind: 'accepted',
    peer: { address, role, nodeId: hello.nodeId, boot: hello.boot },
    welcome: codec.encodeHandshake({ case: 'welcome', value: { ...proof } }),
  };
}

export interface ClientHandshakeConfig {
  /** Best first. */
  readonly protocolVersions: readonly number[];
  readonly clusterId: string;
  /** Secret. */
  readonly joinSecret: Uint8Array;
  readonly identity: LinkIdentity;
  readonly role: PeerRole;
  /** 1..n, or 0 for a gateway. */
  readonly nodeId: number;
  /** 1 to 64 characters of [A-Za-z0-9_-], fresh for every start of the process. */
  readonly boot: string;
  /** The roster's key of the coordinator, 32 bytes. */
  readonly coordinatorKey: Uint8Array;
}

export type ClientVerdict =
  | { readonly kind: 'hello'; readonly hello: Uint8Array }
  | { readonly kind: 'welcome'; readonly coordinatorBoot: string }
  /** `by`: who refused, the coordinator or this side. */
  | { readonly kind: 'refused'; readonly by: 'coordinator' | 'peer'; readonly code: RefusalCode };

export interface ClientHandshake {
  /** Takes the coordinator's next message: the Challenge, then Welcome or Refused. */
  receive(bytes: Uint8Array): ClientVerdict;
}

/**
 * `nonce`: 32 fresh bytes. `binding`: of the TLS below; undefined: the link is plain. Throws RangeError on another length, or
 * on a boot id that no coordinator takes.
 */
export function clientHandshake(
  config: ClientHandshakeConfig,
  codec: HandshakeCodec,
  nonce: Uint8Array,
  binding?: Uint8Array,
): ClientHandshake {
  assertNonce(nonce);
  if (!bootPattern.test(config.boot)) throw new RangeError('a boot id is 1 to 64 characters of [A-Za-z0-9_-]');
  let due: 'challenge' | 'welcome' | 'nothing' = 'challenge';
  let transcript = new Uint8Array(0);
  let coordinatorBoot = '';

  const refuse = (code: RefusalCode): ClientVerdict => {
    due = 'nothing';
    return { kind: 'refused', by: 'peer', code };
  };

  const answer = (challenge: Challenge): ClientVerdict => {
    if (challenge.clusterId !== config.clusterId) return refuse('CLUSTER_MISMATCH');
    if (challenge.nonce.length !== nonceBytes || !bootPattern.test(challenge.coordinatorBoot)) {
      return refuse('MALFORMED');
    }
    const protocolVersion = config.protocolVersions.find((version) => challenge.protocolVersions.includes(version));
    if (protocolVersion === undefined) return refuse('PROTOCOL_VERSION');
    const open = {
      protocolVersion,
      clusterId: config.clusterId,
      role: config.role === 'node' ? roleNode : roleGateway,
      nodeId: config.nodeId,
      boot: config.boot,
      publicKey: config.identity.publicKey,
      nonce,
    };
    transcript = new Uint8Array(transcriptOf(challenge, open, binding));
    coordinatorBoot = challenge.coordinatorBoot;
    due = 'welcome';
    const proof = prove('peer', transcript, config.joinSecret, config.identity);
    return { kind: 'hello', hello: codec.encodeHandshake({ case: 'hello', value: { ...open, ...proof } }) };
  };

  return {
    receive(bytes) {
      if (bytes.length > handshakeBytesMax) return refuse('TOO_LARGE');
      const step = decode(codec, bytes);
      if (step?.case === 'refused' && due !== 'nothing') {
        due = 'nothing';
        return { kind: 'refused', by: 'coordinator', code: knownCode(step.value.code) };
      }
      if (step === undefined || step.case !== due) return refuse('MALFORMED');
      if (step.case === 'challenge') return answer(step.value);
      due = 'nothing';
      const holds = proofHolds('coordinator', transcript, config.joinSecret, config.coordinatorKey, step.value);
      return holds ? { kind: 'welcome', coordinatorBoot } : refuse('BAD_PROOF');
    },
  };
}

export function encodeRefused(codec: HandshakeCodec, code: RefusalCode): Uint8Array {
  return codec.encodeHandshake({ case: 'refused', value: { code, message: refusalMessages[code] } });
}

function refused(code: RefusalCode): HandshakeRefusal {
  return { kind: 'refused', code };
}

/** The text of an unauthenticated refusal must not reach a log. */
function knownCode(code: string): RefusalCode {
  return refusalCodes.find((known) => known === code) ?? 'MALFORMED';
}

function decode(codec: HandshakeCodec, bytes: Uint8Array) {
  try {
    return codec.decodeHandshake(bytes);
  } catch {
    return undefined;
  }
}

function transcriptOf(
  challenge: Challenge,
  hello: Omit<Hello, 'joinMac' | 'signature'>,
  binding: Uint8Array = plainBinding,
): Uint8Array {
  return transcriptDigest({
    protocolVersion: hello.protocolVersion,
    offeredVersions: challenge.protocolVersions,
    clusterId: hello.clusterId,
    coordinatorBoot: challenge.coordinatorBoot,
    serverNonce: challenge.nonce,
    role: hello.role,
    nodeId: hello.nodeId,
    peerBoot: hello.boot,
    peerPublicKey: hello.publicKey,
    peerNonce: hello.nonce,
    binding,
  });
}

function assertNonce(nonce: Uint8Array): void {
  if (nonce.length !== nonceBytes) throw new RangeError(`a handshake nonce has ${nonceBytes} bytes`);
}
