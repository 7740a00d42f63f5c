/**
 * Adds the gateway's knowledge of keys to clients' calls to the signing API: the scheme to an InitiateDkg of a sandbox's
 * ready-made key, and the wallet's terms to an InitiateSigning whose wallet_id is a wallet of ours (the coordinator evaluates
 * them, in the order of its refusals). HTTP and gRPC both use it. Other calls pass without a read of the store.
 */
import type { Log } from '../../core/actors/live/ports.ts';
import type { WalletTerms } from '../../proto/call-orders.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, wireScheme } from '../../proto/key-schemes.ts';
import { connectionType } from '../../wallets/custody/connections/public.ts';
import { type WalletApprovalMode, type WalletRecord, walletType } from '../../wallets/custody/wallets/public.ts';
import { StoreUnavailable, type TenantStore } from '../../wallets/store/contract.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { toServiceError } from '../api/failures.ts';
import type { CallOutcome, Calls, SigningCall } from './signing-calls.ts';

/** The part of the store that says what a wallet asks for. */
export type WalletStore = Pick<TenantStore, 'read'>;

/** Keys of a sandbox that have one scheme from the start. */
export interface ReadyMadeKeys {
  readonly tenant: string;
  /** By session id. */
  readonly schemes: Readonly<Record<string, KeyScheme>>;
}

export interface ClientCallDeps {
  readonly calls: Calls;
  readonly log: Log;
  /** undefined: there is no wallet API, and no wallet asks for anything. */
  readonly wallets?: WalletStore;
  /** A sandbox's keys that have one scheme from the start. */
  readonly readyMadeKeys?: ReadyMadeKeys;
}

/** What our wallets are called; any other id cannot be one. */
const walletIdPattern = /^wal_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const approvalModeOf: Readonly<Record<WalletApprovalMode, ApprovalMode>> = {
  unspecified: ApprovalMode.APPROVAL_MODE_UNSPECIFIED,
  direct_allowed: ApprovalMode.DIRECT_ALLOWED,
  human_required: ApprovalMode.HUMAN_REQUIRED,
};

/**
 * As `Calls.start`, for a client. When the store of the wallets does not answer,
 * the outcome is 503 and nothing was sent.
 */
export function startClientCall(
  { calls, wallets, readyMadeKeys, log }: ClientCallDeps,
  call: SigningCall,
  done: (outcome: CallOutcome) => void,
): () => void {
  const { request } = call;
  if (request.case === 'initiateDkg') {
    const keyScheme = readyMadeScheme(readyMadeKeys, call.tenant, request.value.sessionId);
    return calls.start({ ...call, keyScheme }, done);
  }
  const walletId = walletOf(call);
  if (walletId === undefined || wallets === undefined) return calls.start(call, done);
  let cancelled = false;
  let cancel = (): void => {
    cancelled = true;
  };
  readTerms(wallets, call.tenant, walletId)
    .then(
      (walletTerms) => {
        if (!cancelled) cancel = calls.start({ ...call, walletTerms }, done);
      },
      (error: unknown) => {
        if (!cancelled) done({ failure: unreadable(error) });
      },
    )
    .catch((error: unknown) => {
      log.error(
        { reason: error instanceof Error ? error.stack : String(error) },
        'a call failed with an internal error',
      );
    });
  return () => cancel();
}

function readyMadeScheme(keys: ReadyMadeKeys | undefined, tenant: string, sessionId: string): Scheme {
  if (keys?.tenant !== tenant || !Object.hasOwn(keys.schemes, sessionId)) return Scheme.UNSPECIFIED;
  return wireScheme(keys.schemes[sessionId] ?? '');
}

function walletOf({ request }: SigningCall): string | undefined {
  if (request.case !== 'initiateSigning') return undefined;
  const { walletId } = request.value;
  return walletIdPattern.test(walletId) ? walletId : undefined;
}

/** undefined: we have no such wallet. */
async function readTerms(wallets: WalletStore, tenant: string, walletId: string): Promise<WalletTerms | undefined> {
  const wallet = await wallets.read(tenant, walletType, walletId);
  if (wallet === undefined) return undefined;
  const connection = await wallets.read(tenant, connectionType, wallet.connectionId);
  return termsOf(wallet, connection?.status === 'disconnected');
}

/** A wallet that is frozen or disconnected signs nothing that a client asks for, an archived one nothing at all. */
function termsOf({ signingApi, approvalMode, status, provider }: WalletRecord, isDisconnected: boolean): WalletTerms {
  return {
    intentsOnly: signingApi === 'intents_only' || status !== 'active' || isDisconnected,
    approvalMode: approvalModeOf[approvalMode],
    archived: status === 'archived',
    custodian: provider === 'self_hosted' ? '' : provider,
  };
}

function unreadable(error: unknown): ServiceError {
  if (!(error instanceof StoreUnavailable)) return toServiceError(error);
  return new ServiceError('unavailable', 'the store of the wallets does not answer: repeat the call', { cause: error });
}
