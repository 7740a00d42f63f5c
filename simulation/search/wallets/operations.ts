/**
 * The operations of docs/wallet-api.md, by path. A search counts the runs in which each succeeded, and fails when one never did. The
 * stream of events is no call with one answer: streams.ts follows it.
 */
export const operations: Readonly<Record<string, string>> = {
  '/v1/provider-connections': 'POST GET',
  '/v1/providers/connect': 'POST',
  '/v1/providers': 'GET',
  '/v1/provider-connections/:id': 'GET PATCH',
  '/v1/provider-connections/:id/test': 'POST',
  '/v1/provider-connections/:id/disconnect': 'POST',
  '/v1/wallets': 'POST GET',
  '/v1/wallets/:id': 'PATCH GET',
  '/v1/wallets/:id/archive': 'POST',
  '/v1/wallets/:id/freeze': 'POST',
  '/v1/wallets/:id/unfreeze': 'POST',
  '/v1/wallets/:id/transaction-intents': 'POST GET',
  '/v1/transaction-intents': 'GET',
  '/v1/wallets/:id/transaction-intents/:txId': 'GET',
  '/v1/wallets/:id/transaction-intents/:txId/approve': 'POST',
  '/v1/wallets/:id/transaction-intents/:txId/cancel': 'POST',
  '/v1/events': 'GET',
  '/v1/events/:id': 'GET',
  '/v1/webhooks': 'POST GET',
  '/v1/webhooks/:id': 'GET PATCH DELETE',
  '/v1/webhooks/:id/rotate-secret': 'POST',
  '/v1/webhooks/:id/ping': 'POST',
  '/v1/webhooks/:id/deliveries': 'GET',
  '/v1/webhooks/:id/deliveries/:deliveryId': 'GET',
  '/v1/webhooks/:id/deliveries/:deliveryId/redeliver': 'POST',
  '/v1/webhooks/:id/redeliver': 'POST',
  '/v1/policies': 'POST GET',
  '/v1/policies/:id': 'GET',
  '/v1/policies/:id/evaluate': 'POST',
  '/v1/policies/:id/decisions': 'GET',
  '/v1/.well-known/jwks.json': 'GET',
  '/.well-known/jwks.json': 'GET',
  '/v1/risk/evaluate': 'POST',
  '/v1/risk/scores/:txId': 'GET',
  '/v1/risk/rules': 'POST GET',
  '/v1/risk/rules/:id': 'PATCH DELETE',
  '/v1/compliance/screen': 'POST',
  '/v1/compliance/reports/:id': 'GET',
  '/v1/compliance/lists': 'GET POST',
  '/v1/compliance/lists/:id': 'GET',
  '/v1/treasury/strategies': 'POST GET',
  '/v1/treasury/strategies/:id': 'GET',
  '/v1/treasury/strategies/:id/versions': 'POST',
  '/v1/treasury/strategies/:id/archive': 'POST',
  '/v1/treasury/positions': 'GET',
  '/v1/treasury/rebalance': 'POST',
  '/v1/treasury/plans': 'GET',
  '/v1/treasury/plans/:id': 'GET',
  '/v1/treasury/plans/:id/execute': 'POST',
  '/v1/treasury/plans/:id/cancel': 'POST',
  '/v1/sandbox/market': 'GET POST',
  '/v1/vaults': 'POST GET',
  '/v1/vaults/:id/keys': 'POST GET',
  '/v1/vaults/:id': 'GET',
  '/v1/vaults/:id/sign': 'POST',
  '/v1/vaults/:id/archive': 'POST',
  '/v1/recon/jobs': 'POST GET',
  '/v1/recon/jobs/:id': 'GET',
  '/v1/recon/jobs/:id/cancel': 'POST',
  '/v1/recon/exceptions': 'GET',
  '/v1/recon/exceptions/:id': 'GET',
  '/v1/recon/exceptions/:id/resolve': 'POST',
  '/v1/sandbox/provider-connections/:id/drift': 'POST GET DELETE',
  '/v1/tokens': 'POST GET',
  '/v1/tokens/:id': 'GET',
  '/v1/tokens/:id/freeze': 'POST',
  '/v1/tokens/:id/unfreeze': 'POST',
  '/v1/tokens/:id/mint': 'POST',
  '/v1/tokens/:id/redeem': 'POST',
  '/v1/tokens/:id/orders': 'GET',
  '/v1/tokens/:id/orders/:orderId': 'GET',
  '/v1/tokens/:id/orders/:orderId/approve': 'POST',
  '/v1/tokens/:id/orders/:orderId/cancel': 'POST',
  '/v1/modules': 'GET',
  '/v1/modules/:module/access-requests': 'POST',
};

/** Steps that lead to operations which most runs do not reach, by the beginning of the path. */
const leading: readonly (readonly [begins: string, steps: readonly string[]])[] = [
  ['/v1/tokens', ['issue', 'mint', 'redeem', 'order_vote', 'order_cancel', 'token_freeze']],
  ['/v1/treasury', ['rebalance', 'execute', 'plan_cancel', 'market']],
  ['/v1/recon', ['recon', 'recon_cancel', 'drift', 'resolve']],
  ['/v1/vaults', ['vault_sign', 'vault_archive']],
  ['/v1/webhooks', ['redeliver', 'ping', 'rotate']],
];

const paths = Object.entries(operations).map(([path, methods]) => ({
  path,
  methods: methods.split(' '),
  form: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:[a-zA-Z]+/g, '[^/]+')}$`),
}));
/** The route of a request: without ids and query. */
export function pathOf(target: string): string {
  const [path = ''] = target.split('?');
  return path.replace(/\/(?:[a-z]{3}_[0-9a-f-]{36}|[^/]*\d{4,}[^/]*)/g, '/:id');
}

const known = new Map<string, string | undefined>();

/** The landmark of a call that succeeded; undefined: it is of another API. */
export function operationOf(method: string, target: string): string | undefined {
  const name = `${method} ${pathOf(target)}`;
  if (!known.has(name)) {
    const [path = ''] = target.split('?');
    const named = paths.filter(({ methods, form }) => methods.includes(method) && form.test(path));
    // A path without parameters is the nearer one.
    const one = named.find(({ path: exact }) => exact === path) ?? named[0];
    known.set(name, one && `operation ${method} ${one.path}`);
  }
  return known.get(name);
}

/** Each must succeed in some run of a search. */
export const operationLandmarks: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  paths.flatMap(({ path, methods }) => {
    const steps = leading.find(([begins]) => path.startsWith(begins))?.[1] ?? [];
    return methods.map((method) => [`operation ${method} ${path}`, steps]);
  }),
);
