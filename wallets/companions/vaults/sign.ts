/**
 * Signing a message with a key of a vault: the policies decide, the decision is committed as an order, and only then the cluster
 * signs, in a session of the signing API whose transaction intent is the signature's id. That id follows from the request's
 * idempotency key, so that a repeat finds the same order, session and signature, whatever crashed or changed meanwhile.
 */

import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import { deriveTweak, parsePath } from '../../../core/crypto/derivation.ts';
import { ed25519Check } from '../../../core/crypto/ed25519-check.ts';
import { CryptoError } from '../../../core/crypto/errors.ts';
import { verifyBip340 } from '../../../core/crypto/frost/bip340.ts';
import { verifyEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { keepsChanging } from '../../../gateway/api/failures.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { readBase64 } from '../../../proto/base64.ts';
import { schemeFacts } from '../../../proto/key-schemes.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { metaOf } from '../../custody/provider-calls/calling.ts';
import { askingProvider } from '../../custody/provider-calls/refusals.ts';
import { unfrozenTenant } from '../../custody/tenant/public.ts';
import { ProviderRejected, ProviderUnavailable } from '../../providers/port/port.ts';
import { create, merge } from '../../store/changes.ts';
import type { Change, Guard } from '../../store/contract.ts';
import { signatureEvent } from './change.ts';
import type { MessageSignature, VaultCluster } from './cluster.ts';
import { signedBytes } from './message.ts';
import { decideMessage, type MessageDecision, type MessageFacts, type PolicyDeps } from './policy.ts';
import { openVault, readKey, vaultArchived } from './read.ts';
import { type SignatureOrder, signatureOrderLifetimeMs, signatureOrderType, type VaultKeyRecord } from './record.ts';
import type { SignBody } from './schemas.ts';

export interface SignDeps extends PolicyDeps {
  readonly cluster: Pick<VaultCluster, 'sign'>;
}

/** The most decisions about a message while its inputs keep changing. */
const attemptsMax = 5;

/** Throws ServiceError: 400, 404, 409 when the vault is archived, 422 and 503 from the cluster. */
export async function signMessage(
  deps: SignDeps,
  context: RequestContext,
  vaultId: string,
  body: Static<typeof SignBody>,
): Promise<Answer> {
  const { asked, signed, publicKey, witness } = await readRequest(context, vaultId, body);
  const { key, derivationPath } = asked;
  const known = await context.store.read(context.tenant, signatureOrderType, asked.id);
  const order = known ?? (await orderSignature(deps, context, asked));
  if ('denied' in order) {
    const summary = summaryOf(asked, order.denied, undefined, publicKey);
    return {
      status: 200,
      body: answerOf(summary, order.denied, undefined),
      change: merge(order.change, { events: [signatureEvent(context, 'denied', asked.id, summary)] }),
    };
  }
  const made = await askingProvider('self_hosted', () =>
    deps.cluster
      .sign(metaOf(context), {
        keyId: key.id,
        keystoreType: key.keystoreType,
        purpose: asked.id,
        message: signed,
        derivationPath,
        needsHuman: order.needsHuman,
        witness,
        policyReceipt: order.receipt,
      })
      .then((answered) => verified(answered, key, publicKey, signed), closedMeanwhile),
  );
  const summary = summaryOf(asked, order, made, publicKey);
  const happening = made.status === 'completed' ? 'completed' : 'pending';
  return {
    status: 200,
    body: answerOf(summary, order, made),
    // Returns a finished signature, whatever has happened to the vault meanwhile.
    change: { events: [signatureEvent(context, happening, asked.id, summary)] },
  };
}

/** What `signMessage` would decide now: nothing is recorded and nothing is signed. Throws ServiceError. */
export async function showDecision(
  deps: PolicyDeps,
  context: RequestContext,
  vaultId: string,
  body: Static<typeof SignBody>,
): Promise<Answer> {
  const { asked } = await readRequest(context, vaultId, body);
  const { decision, outcome, reason, reasonCode } = await decideMessage(deps, context, asked);
  return {
    status: 200,
    body: {
      dry_run: true,
      decision: outcome === 'needsHuman' ? 'require_approval' : outcome,
      reason,
      reason_code: reasonCode,
      policy: decision.policy,
      also_policies: decision.alsoPolicies ?? [],
      matched_rules: decision.matchedRules,
      trace: decision.trace,
    },
  };
}

/** Throws ServiceError. */
async function readRequest(context: RequestContext, vaultId: string, body: Static<typeof SignBody>) {
  await unfrozenTenant(context);
  const vault = await openVault(context, vaultId);
  const key = await readKey(context, vault, body.key_id);
  const { message_type: messageType, derivation_path: path = '' } = body;
  const message = readBase64(body.message)!;
  const witness = readBase64(body.human_approval_witness ?? '')!;
  const signed = signedBytes(key.curve, messageType, message);
  const { derivationPath, publicKey } = derivedKey(key, path);
  const asked: MessageFacts = { id: context.newId('vsg'), vault, key, message, messageType, derivationPath };
  return { asked, signed, publicKey, witness };
}

/** The vault may be archived between the order and the cluster's answer, which is then that the key is closed. */
function closedMeanwhile(error: unknown): never {
  const isClosed = error instanceof ProviderRejected && error.providerCode === 'WALLET_ARCHIVED';
  throw isClosed ? vaultArchived() : error;
}

/**
 * The coordinator only relays what the nodes signed: a signature that is not the key's is not passed on, and the request may be
 * repeated. Those of an EVM multisig wallet, which has no key of its own, are for its contract to verify.
 */
function verified(
  made: MessageSignature,
  { curve, scheme }: VaultKeyRecord,
  publicKey: Uint8Array | undefined,
  message: Uint8Array,
): MessageSignature {
  const { status, signature } = made;
  if (status !== 'completed' || publicKey === undefined) return made;
  if (isSignature(curve === 'ed25519' ? 'ed25519' : scheme, publicKey, message, signature)) return made;
  throw new ProviderUnavailable('the signer cluster: the coordinator gave a signature that the key does not verify');
}

function isSignature(
  scheme: 'ed25519' | VaultKeyRecord['scheme'],
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  switch (scheme) {
    case 'ed25519':
      return signature.length === 64 && ed25519Check.current(publicKey, message, signature);
    case 'frost_bip340':
      return verifyBip340(signature, message, publicKey.subarray(1));
    default:
      return verifyEcdsa({ signature, digest: message, publicKey });
  }
}

type Decided = Omit<SignatureOrder, 'id' | 'version' | 'needsHuman'> & Partial<Pick<MessageDecision, 'reasonCode'>>;

/** A denial: nothing is committed yet. */
interface Denial {
  readonly denied: Decided;
  readonly change: Change;
}

/**
 * Decides and commits the order for the cluster; decides again while the inputs change. Throws ServiceError 409 if they keep
 * changing, or if the vault was archived meanwhile.
 */
async function orderSignature(
  deps: SignDeps,
  context: RequestContext,
  asked: MessageFacts,
): Promise<SignatureOrder | Denial> {
  const { tenant, store, nowMs: createdAtMs } = context;
  const guards: Guard[] = [{ kind: 'status', id: asked.vault.id, status: 'active' }];
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { outcome, decision, reason, reasonCode, receipt, change } = await decideMessage(deps, context, asked);
    const decided: Decided = { decisionId: decision.id, reason, receipt, createdAtMs };
    const guarded = merge(change, { guards });
    if (outcome === 'deny') return { denied: { ...decided, reasonCode }, change: guarded };
    const order: SignatureOrder = { id: asked.id, version: 1, needsHuman: outcome === 'needsHuman', ...decided };
    const put = create(signatureOrderType, order, signatureOrderLifetimeMs);
    const result = await store.commit(tenant, merge(guarded, { puts: [put] }));
    if (result.committed) return order;
    if (result.refusal.kind !== 'conflict') throw vaultArchived();
    // Another gateway may have taken over the request and committed the order.
    const ordered = await store.read(tenant, signatureOrderType, asked.id);
    if (ordered !== undefined) return ordered;
  }
  throw keepsChanging();
}

function answerOf(summary: object, { receipt }: Decided, made: MessageSignature | undefined) {
  return {
    ...summary,
    signature: made?.status === 'completed' ? Buffer.from(made.signature).toString('base64') : null,
    recovery_id: made?.recoveryId ?? null,
    policy_receipt: receipt,
    receipt: made?.receipt ?? null,
    checkpoint: made?.checkpoint ?? null,
  };
}

/** Also the form in events: without the signature and tokens. */
function summaryOf(
  { id, vault, key, message, messageType, derivationPath }: MessageFacts,
  { decisionId, reason, reasonCode = null, createdAtMs }: Decided,
  made: MessageSignature | undefined,
  publicKey: Uint8Array | undefined,
) {
  return {
    id,
    vault_id: vault.id,
    key_id: key.id,
    status: made?.status ?? 'denied',
    signing_session_id: made?.sessionId ?? null,
    message_type: messageType,
    message_sha256: createHash('sha256').update(message).digest('hex'),
    derivation_path: derivationPath,
    public_key: publicKey === undefined ? null : Buffer.from(publicKey).toString('hex'),
    policy_decision_id: decisionId,
    reason,
    reason_code: reasonCode,
    created_at: timestamp(createdAtMs),
  };
}

/**
 * The key at a path, as any holder of the xpub derives it; `publicKey` undefined: the nodes share none. The path has one
 * spelling, so that rules on it hold: empty for the key itself, `m/` before others, and no hardened components, which would change no derivation
 * but name the same child. Throws ServiceError 400.
 */
function derivedKey(
  { curve, scheme, publicKey, chainCode }: VaultKeyRecord,
  text: string,
): { readonly derivationPath: string; readonly publicKey: Uint8Array | undefined } {
  try {
    const { hardened, normal } = parsePath(text);
    if (hardened.length > 0) throw invalidPath('a hardened component derives nothing from a vault’s key');
    const derivationPath = normal.length === 0 ? '' : `m/${normal.join('/')}`;
    const parent = Buffer.from(publicKey, 'hex');
    if (!schemeFacts(scheme).derives) {
      if (normal.length > 0) throw invalidPath('keys of this keystore type derive no children');
      return { derivationPath, publicKey: parent.length === 0 ? undefined : parent };
    }
    const derived = deriveTweak({ curve, publicKey: parent, chainCode: Buffer.from(chainCode, 'hex'), path: normal });
    return { derivationPath, publicKey: derived.publicKey };
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    throw invalidPath(error.message);
  }
}

function invalidPath(message: string): ServiceError {
  return invalidFields([{ field: 'derivation_path', issue: 'invalid_format', message }]);
}
