/**
 * The reference model of requests by themselves: the invalid ones, and their reason codes. Written from the tables of
 * docs/signing-api.md.
 */
import {
  ApprovalMode,
  type DkgShareExchangeRequest,
  type InitiateDkgRequest,
  type InitiateSigningRequest,
  KeystoreType,
  type OrchestrationContext,
  type SignatureShareRequest,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SimCaller } from '../cluster/client.ts';

const textMax = 256;
const opaqueMax = 65_536;

export interface KeyFacts {
  readonly curve: string;
  readonly scheme: string;
  /** Hardened components of the account that it stands for; empty: none. */
  readonly account?: readonly number[];
}

/** The fault of the context of any request. The caller checks its version. */
export function contextFault(context: OrchestrationContext | undefined): string | undefined {
  if (context === undefined) return undefined;
  const { client, correlationId, traceparent, payload } = context;
  const texts = [correlationId, traceparent, client?.clientName ?? '', client?.clientVersion ?? ''];
  return texts.some((text) => text.length > textMax) || payload.length > opaqueMax ? 'INVALID_REQUEST' : undefined;
}

/** InitiateSigning and Sign, as far as the check needs no key; after the mock directive. */
export function signingFault(
  asked: Pick<
    InitiateSigningRequest,
    | 'policyApprovalToken'
    | 'humanApprovalWitness'
    | 'approvalMode'
    | 'keystoreType'
    | 'transactionIntentId'
    | 'walletId'
  > & { readonly derivation?: { readonly networkId: string } | undefined },
  terms: SimCaller['walletTerms'],
  walletService: boolean,
): string | undefined {
  if ([asked.policyApprovalToken, asked.humanApprovalWitness].some(({ length }) => length > opaqueMax))
    return 'INVALID_REQUEST';
  if (ApprovalMode[asked.approvalMode] === undefined || KeystoreType[asked.keystoreType] === undefined)
    return 'INVALID_REQUEST';
  const { transactionIntentId: intent, walletId } = asked;
  if ([intent, walletId, asked.derivation?.networkId ?? ''].some(({ length }) => length > textMax))
    return 'INVALID_REQUEST';
  if (intent === '' || walletId === '') return 'INVALID_REQUEST';
  if (terms?.custodian) return 'WALLET_KEY_AT_CUSTODIAN';
  if (walletId.startsWith('vky_') && !walletService) return 'VAULT_KEY';
  if (terms?.archived && !walletService) return 'WALLET_ARCHIVED';
  return terms?.intentsOnly && !walletService ? 'WALLET_INTENTS_ONLY' : undefined;
}

/** The same, for checks that need the key; the keystore type has its own check. */
export function keyedFaults(
  asked: {
    readonly derivation?: { readonly derivationPath: string; readonly curve?: string } | undefined;
    readonly messageHash?: Uint8Array;
  },
  key: KeyFacts,
): string[] {
  const { derivation, messageHash } = asked;
  const found: string[] = [];
  if (derivation?.curve && derivation.curve !== key.curve) return ['UNSUPPORTED_CURVE'];
  const path = pathOf(derivation?.derivationPath ?? '');
  const account = key.account ?? [];
  const isElsewhere =
    path !== undefined && path.account.length > 0 && account.length > 0 && path.account.join() !== account.join();
  if (path === undefined || isElsewhere || (path.normal > 0 && !isSharedScheme(key.scheme)))
    found.push('INVALID_DERIVATION_PATH');
  const bytes = messageHash?.length ?? 32;
  const isHash = key.curve === 'secp256k1' ? bytes === 32 : bytes >= 1 && bytes <= 65_536;
  if (!isHash && found.length === 0) found.push('INVALID_MESSAGE_HASH');
  return found;
}

/** InitiateDkg and MakeKey. `unchecked`: the roster decides the omitted parts of the call. */
export function dkgFault(
  { sessionId, threshold, totalNodes, derivation }: InitiateDkgRequest,
  { walletService, keyScheme, isMaking }: { walletService: boolean; keyScheme: boolean; isMaking: boolean },
  nodesTotal: number,
): string | 'unchecked' | undefined {
  const isReserved = /^(wal|vky|sig)_/.test(sessionId);
  const isWallet = /^(wal|vky)_/.test(sessionId);
  if (sessionId !== '' && !/^[A-Za-z0-9._:-]{1,128}$/.test(sessionId)) return 'INVALID_REQUEST';
  if (isReserved && !(walletService && isWallet)) return 'INVALID_REQUEST';
  if (isMaking && !isWallet) return 'INVALID_REQUEST';
  if (keyScheme || threshold === 0 || totalNodes === 0) return 'unchecked';
  if (threshold < 2 || threshold > totalNodes || totalNodes > nodesTotal) return 'INVALID_THRESHOLD';
  if ((derivation?.networkId ?? '').length > textMax) return 'INVALID_REQUEST';
  if (!['', 'secp256k1', 'ed25519'].includes(derivation?.curve ?? '')) return 'UNSUPPORTED_CURVE';
  const path = pathOf(derivation?.derivationPath ?? '');
  return path === undefined || path.normal > 0 ? 'INVALID_DERIVATION_PATH' : undefined;
}

/** The form of a client-supplied share. */
export function givenShareFault(
  { senderNodeId, recipientNodeId, encryptedShare, commitments }: DkgShareExchangeRequest,
  { curve, threshold }: { readonly curve: string; readonly threshold: number },
): boolean {
  const pointBytes = curve === 'ed25519' ? 32 : 33;
  return (
    senderNodeId === 0 ||
    recipientNodeId === 0 ||
    encryptedShare.length !== 32 ||
    commitments.length !== threshold ||
    commitments.some(({ length }) => length !== pointBytes)
  );
}

/** The form of a submitted partial signature and its nonce point. `scheme`: of the key. */
export function partialFault(
  { nodeId, partialSignature, ephemeralPublicKey }: SignatureShareRequest,
  scheme: string,
): boolean {
  const isShared = isSharedScheme(scheme);
  const partial = partialSignature.length;
  if (partial > 0 && (nodeId === 0 || partial !== partialBytesOf(scheme))) return true;
  const point = ephemeralPublicKey.length;
  return point !== 0 && (!isShared || (point !== 33 && point !== 32));
}

/** A scalar; for a key that nodes do not share a whole signature: r, s and v, or the ed25519 form. */
function partialBytesOf(scheme: string): number {
  if (isSharedScheme(scheme)) return 32;
  return scheme.endsWith('ed25519') ? 64 : 65;
}

/** Whether nodes share keys of this scheme; a partial of another has the length of its signature. */
export function isSharedScheme(scheme: string | undefined): boolean {
  return scheme === '' || scheme === 'mock_ecdsa' || scheme?.startsWith('frost_') === true;
}

/** Whether evidence is too long. */
export function isTooLong({ length }: Uint8Array): boolean {
  return length > opaqueMax;
}

/** The hardened components of a path, without their mark, and the number of the others; undefined: it is no path. */
function pathOf(path: string): { readonly normal: number; readonly account: readonly number[] } | undefined {
  if (path.length > 1024) return undefined;
  if (path === '') return { normal: 0, account: [] };
  const [root, ...components] = path.split('/');
  const isNumber = (text: string) => /^\d+'?$/.test(text) && Number.parseInt(text, 10) < 2 ** 31;
  const normal = components.findIndex((text) => !text.endsWith("'"));
  const isMixed = normal !== -1 && components.slice(normal).some((text) => text.endsWith("'"));
  if (root !== 'm' || !components.every(isNumber) || isMixed) return undefined;
  const account = components.slice(0, normal === -1 ? undefined : normal).map((text) => Number.parseInt(text, 10));
  return { normal: normal === -1 ? 0 : components.length - normal, account };
}
