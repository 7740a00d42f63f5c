/**
 * Every released signature verifies for exactly the approved message, under the key derived from a DKG's key. "Approved" is the
 * message that a client asked for, not the one in the session's record: the checker compares both.
 */

import type { KeyRecord } from '../../../coordinator/contract/record.ts';
import { isTerminal } from '../../../coordinator/contract/transitions.ts';
import { deriveTweak, parsePath } from '../../../core/crypto/derivation.ts';
import { evmAddressOf } from '../../../core/crypto/evm-address.ts';
import { ownerSignatureBytes } from '../../../core/crypto/owner-ecdsa.ts';
import {
  type InitiateSigningRequest,
  InitiateSigningRequestSchema,
  KeystoreType,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { signatureIn } from './answer-parts.ts';
import { isRollbackOf } from './rollbacks.ts';
import { DurableSessions, hexOf, isSigning, type SigningSessionRecord } from './sessions.ts';
import type { SignatureVerifier } from './verifier.ts';

export function signatureVerifies(verify: SignatureVerifier): Checker {
  const sessions = new DurableSessions();
  const keys = new Map<string, KeyRecord>();
  /** Messages that clients asked to sign, by "tenant intent". */
  const asked = new Map<string, Set<string>>();
  /** Messages of begun sessions, as hex, by "tenant session": an ended session stores only the digest of a long message. */
  const messages = new Map<string, string>();
  /** Signatures that verified, by "tenant session". */
  const verified = new Map<string, string>();

  function released(tenant: string, sessionId: string, signature: Uint8Array): string | undefined {
    const hex = hexOf(signature);
    const name = `${tenant} ${sessionId}`;
    const known = verified.get(name);
    if (known === hex) return undefined;
    if (known !== undefined) return `session ${sessionId} released two signatures`;
    const record = sessions.get(tenant, sessionId);
    if (!record || !isSigning(record)) return `a signature was released for ${sessionId}, of which nothing is durable`;
    const key = keys.get(`${tenant} ${record.ceremony.facts.keyId}`);
    if (!key) return `session ${sessionId} released a signature of a key that no DKG made`;
    if (!isRight(verify, record, key, Buffer.from(messages.get(name) ?? '', 'hex'), signature)) {
      return `the signature of session ${sessionId} does not verify for the approved message under the derived key`;
    }
    verified.set(name, hex);
    return undefined;
  }

  return {
    invariant: 'signature-verifies',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called': {
          const request = observation.request as Partial<InitiateSigningRequest>;
          if (request.$typeName !== InitiateSigningRequestSchema.typeName) return undefined;
          const { transactionIntentId, walletId, messageHash, derivation } = request as InitiateSigningRequest;
          const name = `${observation.tenant} ${transactionIntentId}`;
          const contents = asked.get(name) ?? new Set();
          contents.add(`${walletId} ${derivation?.derivationPath ?? ''} ${hexOf(messageHash)}`);
          asked.set(name, contents);
          return undefined;
        }
        case 'written':
          for (const { record, begins, key } of sessions.take(observation)) {
            if (key) keys.set(`${key.tenant} ${key.keyId}`, key);
            // A session that ends as it begins never signs.
            if (!begins || !isSigning(record) || isTerminal(record.state)) continue;
            const { intentId, keyId, derivationPath, messageHash } = record.ceremony.facts;
            messages.set(`${record.tenant} ${record.sessionId}`, messageHash);
            if (!asked.get(`${record.tenant} ${intentId}`)?.has(`${keyId} ${derivationPath} ${messageHash}`)) {
              return `session ${record.sessionId} signs a message that no client asked to sign for its intent`;
            }
          }
          return undefined;
        case 'fault':
          // A session that Redis has forgotten, or has open again, may sign its message with other nonces.
          if (isRollbackOf(observation, 'coordinator')) verified.clear();
          return undefined;
        case 'promised': {
          const { tenant, response } = observation;
          const signed = signatureIn(response);
          return signed && released(tenant, signed.sessionId, signed.signature);
        }
        default:
          return undefined;
      }
    },
  };
}

function isRight(
  verify: SignatureVerifier,
  { ceremony, keystoreType }: SigningSessionRecord,
  key: KeyRecord,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const { curve, publicKey, chainCode } = key;
  const { derivationPath } = ceremony.facts;
  if (keystoreType === KeystoreType.HSM_PKCS11 || keystoreType === KeystoreType.MPC_VENDOR) {
    const scheme = curve === 'ed25519' ? 'ed25519' : 'ecdsa';
    const own = Buffer.from(key.verificationShares[0]!, 'hex');
    return verify({ scheme, publicKey: own, message, signature });
  }
  if (keystoreType === KeystoreType.MULTISIG_EVM_WALLET) {
    return isOfOwners(verify, key, message, signature);
  }
  const derived = deriveTweak({
    curve,
    publicKey: Buffer.from(publicKey, 'hex'),
    chainCode: Buffer.from(chainCode, 'hex'),
    path: parsePath(derivationPath).normal,
  });
  const bip340 = keystoreType === KeystoreType.MPC_FROST;
  return verify({
    scheme: curve === 'ed25519' ? 'ed25519' : bip340 ? 'bip340' : 'ecdsa',
    publicKey: derived.publicKey,
    message,
    signature,
  });
}

/** r ‖ s ‖ v of `threshold` different owners, ascending by address, as Safe's contract counts them. */
function isOfOwners(
  verify: SignatureVerifier,
  { threshold, verificationShares }: KeyRecord,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== threshold * ownerSignatureBytes) return false;
  const owners = verificationShares.map((key) => Buffer.from(key, 'hex'));
  const signers = Array.from({ length: threshold }, (_, index) => {
    const one = signature.slice(index * ownerSignatureBytes, index * ownerSignatureBytes + 64);
    return owners.find((publicKey) => verify({ scheme: 'ecdsa', publicKey, message, signature: one }));
  });
  const addresses = signers.map((owner) => (owner ? hexOf(evmAddressOf(owner)) : ''));
  return addresses.every((address, index) => address > (addresses[index - 1] ?? ''));
}
