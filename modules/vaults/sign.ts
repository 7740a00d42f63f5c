/**
 * Signing a message with a key of a vault: the policies decide, then the cluster signs in a session of the signing API whose
 * transaction intent is the signature's id. That id follows from the request's idempotency key, so that a repeat gets the same
 * session and the same signature, whatever crashed in between.
 */

import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import { ServiceError } from '../../api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../api/route.ts';
import { deriveTweak, parsePath } from '../../crypto/derivation.ts';
import { CryptoError } from '../../crypto/errors.ts';
import { metaOf } from '../../custody/provider-calls/calling.ts';
import { askingProvider } from '../../custody/provider-calls/refusals.ts';
import { schemeFacts } from '../../proto/key-schemes.ts';
import { merge } from '../../store/changes.ts';
import type { Guard } from '../../store/contract.ts';
import { signatureEvent } from './change.ts';
import type { MessageSignature, VaultCluster } from './cluster.ts';
import { readBase64, signedBytes } from './message.ts';
import { decideMessage, type MessageDecision, type MessageFacts, type PolicyDeps } from './policy.ts';
import { openVault, readKey } from './read.ts';
import type { VaultKeyRecord } from './record.ts';
import type { SignBody } from './schemas.ts';

export interface SignDeps extends PolicyDeps {
  readonly cluster: Pick<VaultCluster, 'sign'>;
}

/** Throws ServiceError: 400, 404, 409 when the vault is archived, 422 and 503 as the cluster says. */
export async function signMessage(
  deps: SignDeps,
  context: RequestContext,
  vaultId: string,
  body: Static<typeof SignBody>,
): Promise<Answer> {
  const vault = await openVault(context, vaultId);
  const key = await readKey(context, vault, body.key_id);
  const { message_type: messageType, derivation_path: path = '' } = body;
  const message = readBase64('message', body.message);
  const witness = readBase64('human_approval_witness', body.human_approval_witness ?? '');
  const signed = signedBytes(key.curve, messageType, message);
  const { derivationPath, publicKey } = derivedKey(key, path);
  const asked: MessageFacts = { id: context.newId('vsg'), vault, key, message, messageType, derivationPath };
  const decided = await decideMessage(deps, context, asked);
  const made =
    decided.outcome === 'deny'
      ? undefined
      : await askingProvider('self_hosted', () =>
          deps.cluster.sign(metaOf(context), {
            keyId: key.id,
            keystoreType: key.keystoreType,
            purpose: asked.id,
            message: signed,
            derivationPath,
            needsHuman: decided.outcome === 'needsHuman',
            witness,
            policyReceipt: decided.receipt,
          }),
        );
  const summary = summaryOf(context, asked, decided, made, publicKey);
  const happening = made === undefined ? 'denied' : made.status === 'completed' ? 'completed' : 'pending';
  const guards: Guard[] = [{ kind: 'status', id: vault.id, status: 'active' }];
  return {
    status: 200,
    body: {
      ...summary,
      signature: made?.status === 'completed' ? Buffer.from(made.signature).toString('base64') : null,
      recovery_id: made?.recoveryId ?? null,
      policy_receipt: decided.receipt,
      receipt: made?.receipt ?? null,
      checkpoint: made?.checkpoint ?? null,
    },
    change: merge(decided.change, {
      events: [signatureEvent(context, happening, asked.id, summary)],
      // A signature that was made is told, whatever has happened to the vault meanwhile.
      ...(made === undefined && { guards }),
    }),
  };
}

/** What an event says of it, too: neither the signature nor a token. */
function summaryOf(
  { nowMs }: RequestContext,
  { id, vault, key, message, messageType, derivationPath }: MessageFacts,
  { decision, reason }: MessageDecision,
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
    policy_decision_id: decision.id,
    reason,
    created_at: new Date(nowMs).toISOString(),
  };
}

/**
 * The key at a path, as any holder of the xpub derives it, `publicKey` undefined: the nodes share none. The path in its only
 * spelling, so that rules on it hold: the key itself is empty, and nothing is hardened, which would derive nothing and name the
 * same child. Throws ServiceError 400.
 */
function derivedKey(
  { curve, scheme, publicKey, chainCode }: VaultKeyRecord,
  text: string,
): { readonly derivationPath: string; readonly publicKey: Uint8Array | undefined } {
  try {
    const { hardened, normal } = parsePath(text);
    if (hardened.length > 0) throw invalidPath('a hardened component derives nothing from a vault’s key');
    const derivationPath = normal.length === 0 ? '' : text;
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
  return new ServiceError('invalidRequest', 'the request is not valid: derivation_path', {
    details: [{ field: 'derivation_path', issue: 'invalid_format', message }],
  });
}
