/**
 * Tokens and their orders, event by event, by docs/tokens.md: the states of an order, the limits of mints under cap and reserve,
 * and the circulating supply. Amounts are in units of 10^-18 of the token.
 */
import { decimal, type ToldEvent } from './documented-ledger.ts';
import { Finding, found } from './finding.ts';

export interface TokenSupply {
  readonly cap: bigint;
  status: string;
  circulating: bigint;
  minting: bigint;
}

const next: Readonly<Record<string, readonly string[]>> = {
  '': ['created'],
  created: ['pending_approval', 'reserve_check', 'rejected'],
  pending_approval: ['reserve_check', 'rejected'],
  reserve_check: ['processing', 'rejected', 'failed'],
  processing: ['completed', 'failed'],
};
const tokenStatus: Readonly<Record<string, string>> = {
  'token.created': 'deploying',
  'token.deployed': 'active',
  'token.failed': 'failed',
  'token.frozen': 'frozen',
  'token.unfrozen': 'active',
};

export class Supplies {
  readonly tokens = new Map<string, TokenSupply>();
  /** The last status of each order. */
  readonly orders = new Map<string, string>();
  readonly #bySymbol = new Map<string, TokenSupply>();
  /** The token with a reserve. */
  readonly #backed = new Map<string, TokenSupply>();

  take(event: ToldEvent): void {
    const { type, resource, data } = event;
    const status = tokenStatus[type];
    if (status !== undefined) {
      const token = this.tokens.get(resource.id) ?? this.#issued(resource.id, data.object);
      token.status = status;
    }
    if (type.startsWith('token.order.')) this.#order(event);
  }

  /** An intent begins to move units: it must not be of a frozen token. */
  moves({ sequence, resource, data }: ToldEvent): void {
    if (this.#bySymbol.get(data.object.asset)?.status !== 'frozen') return;
    found('supply-adds-up', `event ${sequence}: ${resource.id} is signed, and its token is frozen`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: read by its documented fields.
  #issued(id: string, { supply_cap: cap, symbol }: any): TokenSupply {
    const token: TokenSupply = { cap: decimal(cap), status: '', circulating: 0n, minting: 0n };
    this.tokens.set(id, token);
    this.#bySymbol.set(symbol, token);
    return token;
  }

  #order(event: ToldEvent): void {
    const { type, sequence, resource, data } = event;
    const order = data.object;
    const happening = type.slice('token.order.'.length);
    if (happening === 'approval_recorded') return;
    const before = this.orders.get(resource.id) ?? '';
    const about = `event ${sequence} ${type} of ${resource.id} (${order.kind} of ${order.amount})`;
    if (!next[before]?.includes(happening)) found('supply-adds-up', `${about} follows ${before}`);
    this.orders.set(resource.id, happening);
    const token = this.tokens.get(order.token_id);
    if (token === undefined) throw new Finding('supply-adds-up', `${about} is of a token that was never issued`);
    const units = decimal(order.amount);
    const isMint = order.kind === 'mint';
    const after = token.circulating + token.minting + units;
    if (happening === 'processing') {
      if (token.status !== 'active') found('supply-adds-up', `${about} begins while its token is ${token.status}`);
      if (isMint && after > token.cap) found('supply-adds-up', `${about} passes the cap`);
      this.#checkReserve(about, event, token, isMint ? after : units);
      if (isMint) token.minting += units;
    }
    if (before === 'processing') {
      if (isMint) token.minting -= units;
      if (happening === 'completed') token.circulating += isMint ? units : -units;
      if (token.circulating < 0n) found('supply-adds-up', `${about} leaves ${token.circulating} in circulation`);
    }
    if (happening !== 'rejected') return;
    const { sub_status: why, reserve_check: check } = order;
    const isTrue =
      why === 'CAP_EXCEEDED'
        ? isMint && after > token.cap
        : why === 'RESERVE_INSUFFICIENT'
          ? decimal(check.held) < decimal(check.required)
          : why === 'TOKEN_FROZEN'
            ? token.status === 'frozen'
            : true;
    if (!isTrue) found('supply-adds-up', `${about} is rejected as ${why}, which is not so`);
  }

  #checkReserve(about: string, { data }: ToldEvent, token: TokenSupply, required: bigint): void {
    const { reserve_reference: reserve, reserve_check: check } = data.object;
    if (decimal(check.required) !== required) found('supply-adds-up', `${about} needs a reserve of ${check.required}`);
    if (decimal(check.held) < required) found('supply-adds-up', `${about} has a reserve of ${check.held} alone`);
    const name = `${reserve.type} ${reserve.wallet_id ?? reserve.reference} ${reserve.asset}`;
    if (reserve.type === 'attestation') {
      if (decimal(check.held) !== decimal(reserve.amount))
        found('supply-adds-up', `${about} finds ${check.held} attested`);
      if (Date.parse(check.at) >= Date.parse(reserve.expires_at)) {
        found('supply-adds-up', `${about} leans on what expired at ${reserve.expires_at}`);
      }
    }
    const other = this.#backed.get(name);
    if (other !== undefined && other !== token && other.circulating + other.minting > 0n) {
      found('supply-adds-up', `${about} leans on the reserve of another token`);
    }
    this.#backed.set(name, token);
  }
}
