/**
 * Validates InitiateSigning field by field. Every refusal names the field and changes nothing.
 *
 * Two halves: checks of the request by itself, and checks that need the key (curve, path, hash). A session that a
 * mock directive failed before either ran goes through both at its resume.
 */

import { toHex } from '../../core/crypto/bytes.ts';
import { parsePath } from '../../core/crypto/derivation.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { realSha256 } from '../../core/crypto/hashing.ts';
import {
  ApprovalMode,
  type InitiateSigningRequest,
  KeystoreType,
  MockDirective,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, schemeFacts } from '../../proto/key-schemes.ts';
import {
  derivationPathCharsMax,
  digestBytes,
  ed25519MessageBytesMax,
  identifierCharsMax,
  isVaultKey,
  opaqueBytesMax,
} from '../../proto/limits.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { CallFacts } from '../contract/messages.ts';
import type { KeyRecord, SigningFacts } from '../contract/record.ts';
import { quote } from '../session/message-text.ts';
import { schemeUnder } from './key-scheme.ts';

/** The parts of an InitiateSigning call that its facts come from. */
interface AskedFor extends Pick<CallFacts, 'walletService' | 'walletTerms'> {
  readonly request: InitiateSigningRequest;
}

/** Cuts each text one character past its limit, so that a later check still refuses it. */
export function factsOf({ request, walletService, walletTerms }: AskedFor): SigningFacts {
  const text = (value: string, charsMax: number) => value.slice(0, charsMax + 1);
  return {
    intentId: text(request.transactionIntentId, identifierCharsMax),
    keyId: text(request.walletId, identifierCharsMax),
    curve: text(request.derivation?.curve ?? '', identifierCharsMax),
    derivationPath: text(request.derivation?.derivationPath ?? '', derivationPathCharsMax),
    networkId: text(request.derivation?.networkId ?? '', identifierCharsMax),
    messageHash: request.messageHash.subarray(0, ed25519MessageBytesMax + 1),
    keystoreType: request.keystoreType,
    approvalMode:
      request.approvalMode in ApprovalMode && walletTerms?.approvalMode === ApprovalMode.HUMAN_REQUIRED
        ? ApprovalMode.HUMAN_REQUIRED
        : request.approvalMode,
    intentsOnly: walletTerms?.intentsOnly === true && !walletService,
    ...(walletTerms?.archived === true && !walletService && { archived: true }),
    ...(walletTerms?.custodian && { custodian: text(walletTerms.custodian, identifierCharsMax) }),
    walletService,
  };
}

/** The fault of an unknown directive. It is the first check, since directives come first. */
export function directiveFault(directive: MockDirective): CallAnswer | undefined {
  return MockDirective[directive] === undefined ? unknownEnum('mock_directive', directive) : undefined;
}

export function opaqueFault(request: InitiateSigningRequest): CallAnswer | undefined {
  const opaque = [
    ['policy_approval_token', request.policyApprovalToken],
    ['human_approval_witness', request.humanApprovalWitness],
  ] as const;
  for (const [field, bytes] of opaque) {
    if (bytes.length > opaqueBytesMax)
      return answer('INVALID_REQUEST', `${field} is longer than ${opaqueBytesMax} bytes`);
  }
  return undefined;
}

/** The digest of a policy token or a witness for a session and its events: lowercase hex; empty for no bytes. */
export function evidenceSha256(evidence: Uint8Array): string {
  return evidence.length === 0 ? '' : toHex(realSha256(evidence));
}

/** The checks without the key. */
export function requestFault(facts: SigningFacts): CallAnswer | undefined {
  if (ApprovalMode[facts.approvalMode] === undefined) return unknownEnum('approval_mode', facts.approvalMode);
  if (KeystoreType[facts.keystoreType] === undefined) return unknownEnum('keystore_type', facts.keystoreType);
  const texts = [
    ['transaction_intent_id', facts.intentId],
    ['wallet_id', facts.keyId],
    ['derivation.network_id', facts.networkId],
  ] as const;
  for (const [field, text] of texts) {
    if (text.length > identifierCharsMax)
      return answer('INVALID_REQUEST', `${field} is longer than ${identifierCharsMax} characters`);
  }
  if (facts.intentId === '') return answer('INVALID_REQUEST', 'transaction_intent_id is missing');
  if (facts.keyId === '') return answer('INVALID_REQUEST', 'wallet_id is missing');
  if (facts.custodian) {
    return answer(
      'WALLET_KEY_AT_CUSTODIAN',
      `the custodian ${facts.custodian} holds the key of wallet ${quote(facts.keyId)}: sign by a transaction intent`,
    );
  }
  if (isVaultKey(facts.keyId) && !facts.walletService) return answer('VAULT_KEY');
  if (facts.archived) return answer('WALLET_ARCHIVED');
  if (facts.intentsOnly) return answer('WALLET_INTENTS_ONLY');
  return undefined;
}

export type KeyedResult =
  | { readonly path: readonly number[]; readonly scheme: KeyScheme }
  | { readonly fault: CallAnswer };

/** The checks with the key; returns the non-hardened path below it, and the scheme. */
export function withKey(facts: SigningFacts, key: KeyRecord | undefined): KeyedResult {
  if (!key) {
    return {
      fault: answer(
        'WALLET_KEY_NOT_FOUND',
        `wallet_id ${quote(facts.keyId)} is neither a wallet nor the session_id of a completed DKG`,
      ),
    };
  }
  if (facts.curve !== '' && facts.curve !== key.curve) {
    return {
      fault: answer(
        'UNSUPPORTED_CURVE',
        `derivation.curve ${quote(facts.curve)} is not this key's curve, ${key.curve}`,
      ),
    };
  }
  const under = schemeUnder(key, facts.keystoreType);
  if ('fault' in under) return under;
  const path = readPath(facts.derivationPath);
  if ('fault' in path) return path;
  const { hardened, normal } = path;
  if (normal.length > 0 && !schemeFacts(under.scheme).derives) {
    const text = 'derivation.derivation_path: keys of this keystore type have no children: leave it empty';
    return { fault: answer('INVALID_DERIVATION_PATH', text) };
  }
  if (hardened.length > 0 && key.account.length > 0 && hardened.join('/') !== key.account.join('/')) {
    return {
      fault: answer(
        'INVALID_DERIVATION_PATH',
        "derivation.derivation_path: its hardened components are not those of the key's account",
      ),
    };
  }
  const { length } = facts.messageHash;
  if (key.curve === 'secp256k1' && length !== digestBytes) {
    return {
      fault: answer('INVALID_MESSAGE_HASH', `message_hash has ${length} bytes: secp256k1 signs exactly ${digestBytes}`),
    };
  }
  if (length < 1 || length > ed25519MessageBytesMax) {
    return {
      fault: answer('INVALID_MESSAGE_HASH', `message_hash must have 1 to ${ed25519MessageBytesMax} bytes for ed25519`),
    };
  }
  return { path: normal, scheme: under.scheme };
}

/** A derivation path, or its fault. */
export function readPath(
  path: string,
): { readonly hardened: readonly number[]; readonly normal: readonly number[] } | { readonly fault: CallAnswer } {
  if (path.length > derivationPathCharsMax) {
    return {
      fault: answer(
        'INVALID_DERIVATION_PATH',
        `derivation.derivation_path is longer than ${derivationPathCharsMax} characters`,
      ),
    };
  }
  try {
    return parsePath(path);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    return { fault: answer('INVALID_DERIVATION_PATH', `derivation.derivation_path: ${error.message}`) };
  }
}

function unknownEnum(field: string, value: number): CallAnswer {
  return answer('INVALID_REQUEST', `${field} ${value} is not a value of its enum`);
}
