/**
 * A node's identity in a DKG, and the outcomes of its steps. The steps (dealing.ts, verifying.ts, confirming.ts) are pure
 * functions from a state and a request to an outcome; dkg-actor.ts turns outcomes into effects.
 */
import type { Address } from '../../core/actors/contract.ts';
import type { RandomSource } from '../../core/crypto/bytes.ts';
import type { FinishedDkg } from '../../core/crypto/dkg-transcripts.ts';
import { type KeyHolders, participantsOf } from '../../core/crypto/participants.ts';
import { isWalletKey } from '../../proto/limits.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import type { HsmOutcome, HsmRequest } from '../records/hsm-port.ts';
import type { StoredKey } from '../records/key-record.ts';
import { type DkgRefusalCode, dkgRefusals } from './codes.ts';
import type { DkgState } from './state.ts';

/**
 * The ready-made keys of a sandbox. For exactly these (tenant, session) pairs the polynomial comes from the seed;
 * nothing else ever does, no sealing key and no nonce.
 */
export interface SandboxKeys {
  /** 32 bytes, of this node alone where the seed is secret. Secret. */
  readonly seed: Uint8Array;
  readonly tenant: string;
  readonly sessions: readonly string[];
}

/** The data that is the same for all sessions of a node. */
export interface DkgParty {
  readonly nodeId: number;
  /** Ed25519 public keys, 32 bytes; index 0 is node 1. */
  readonly identityKeys: readonly Uint8Array[];
  /** This node's Ed25519 secret key, 64 bytes. Secret. */
  readonly secretKey: Uint8Array;
  readonly rosterDigest: Uint8Array;
  /** Secret, 32 bytes: shared with the gateways, whose orders it proves. */
  readonly orderKey: Uint8Array;
  /** Whether a client may supply a dealer's commitments and shares here; never for a wallet's key. */
  readonly allowClientDealers: boolean;
  readonly sandbox?: SandboxKeys | undefined;
}

/** Whether this node consents to client-supplied dealers in a session. */
export function allowsClientDealers({ allowClientDealers }: DkgParty, session: string): boolean {
  return allowClientDealers && !isWalletKey(session);
}

/** Whether this node deals the session's polynomial from its seed: the same in each attempt. */
export function isReadyMade({ sandbox }: DkgParty, tenant: string, session: string): boolean {
  return sandbox !== undefined && sandbox.tenant === tenant && sandbox.sessions.includes(session);
}

/** The inputs of a step from its context. */
export interface DkgWorld {
  readonly party: DkgParty;
  readonly random: RandomSource;
  /** The answer of the node's token, for a request that waited for it. */
  readonly token?: HsmOutcome | undefined;
  /** The node's clock, milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** The key of a refresh, for a request that waited for it. */
  readonly key?: { readonly stored: StoredKey | undefined } | undefined;
}

/** The identity that verifies a dealer's signatures. `nodeId` has been checked against the session's size. */
export function identityKeyOf(party: DkgParty, nodeId: number): Uint8Array {
  const key = party.identityKeys[nodeId - 1];
  if (key === undefined) throw new Error(`node ${nodeId} is not in the roster`);
  return key;
}

/** The outcome of a request. */
export type PartyOutcome =
  /** Answered from the present state; nothing changes. */
  | { readonly kind: 'answered'; readonly body: WireBodyInit }
  /**
   * The state changes, durably, before the answer leaves. `finalKey`: becomes final, and bound, in the same write. Of a refresh it
   * replaces the shares of before, or binds them.
   */
  | {
      readonly kind: 'advanced';
      readonly state: Exclude<DkgState, { phase: 'unopened' }>;
      readonly body: WireBodyInit | undefined;
      readonly finalKey?: StoredKey;
    }
  | Refused
  /** The node's token, or vendor, is asked first; the request continues with its answer. */
  | { readonly kind: 'waits'; readonly to: Address; readonly request: HsmRequest }
  /** The record of this key is read first; the request continues with it. */
  | { readonly kind: 'reads'; readonly recordKey: string }
  /** No change and no answer. */
  | { readonly kind: 'ignored' };

export interface Refused {
  readonly kind: 'refused';
  readonly code: DkgRefusalCode;
  readonly message: string;
  readonly culprits: readonly number[];
  /** ALREADY_FINAL only: all nodes' signed results. */
  readonly results?: readonly FinishedDkg[];
}

/** A refusal; `detail` is public and follows the code's sentence. */
export function refused(code: DkgRefusalCode, detail = '', culprits: readonly number[] = []): Refused {
  const sentence = dkgRefusals[code];
  return { kind: 'refused', code, message: detail === '' ? sentence : `${sentence}: ${detail}`, culprits };
}

/** The first fault in a list of ids, which must be distinct nodes of the session; or undefined. */
export function idFault(what: string, ids: readonly number[], sharing: KeyHolders): string | undefined {
  const participants = participantsOf(sharing);
  const seen = new Set<number>();
  for (const id of ids) {
    if (!participants.includes(id)) return `${what} ${id} is not of the session's nodes ${participants.join(', ')}`;
    if (seen.has(id)) return `${what} ${id} appears twice`;
    seen.add(id);
  }
  return undefined;
}
