/** Prepares the operations of a mix: the keys, wallets and receivers that they need exist when it resolves. */
import { randomUUID } from 'node:crypto';
import { grpcCaller } from '../calls/grpc.ts';
import { httpClient } from '../calls/http.ts';
import { restCaller } from '../calls/rest.ts';
import type { Service } from '../calls/service.ts';
import type { ApiName, SigningCaller, SigningCurve } from '../calls/signing-caller.ts';
import type { LoadTarget } from '../calls/target.ts';
import type { OperationName } from '../plan/plan.ts';
import { keyOperation } from './key.ts';
import type { Operation } from './operation.ts';
import { readOperation } from './read.ts';
import { signOperation } from './sign.ts';
import { transferOperation } from './transfer.ts';
import { webhookOperation } from './webhook.ts';

export interface Prepared {
  readonly operations: ReadonlyMap<OperationName, Operation>;
  close(): Promise<void>;
}

export async function prepare(
  names: readonly OperationName[],
  api: ApiName,
  target: LoadTarget,
  service: Service,
  connections: number,
): Promise<Prepared> {
  const run = randomUUID().slice(0, 8);
  let serial = 0;
  const name = () => {
    serial += 1;
    return `load-${run}-${serial}`;
  };
  const door: SigningCaller =
    api === 'grpc' ? grpcCaller(target.grpc ?? '', target.token) : restCaller(target.url, target.token, connections);
  const { client } = service;
  const http = httpClient(target.url, target.token, connections);
  const signer = async (curve: SigningCurve) => {
    const walletId = name();
    const publicKey = await service.makeKey(door, curve, walletId);
    return signOperation(door, { walletId, curve, publicKey }, name);
  };
  const makers: Readonly<Record<OperationName, () => Promise<Operation>>> = {
    sign: () => signer('secp256k1'),
    'sign-ed25519': () => signer('ed25519'),
    key: async () => keyOperation(door, service, name),
    order: () => transferOperation(http, client, target, name, { ordersOnly: true }),
    transfer: () => transferOperation(http, client, target, name),
    read: () => readOperation(http, client),
    webhook: () => webhookOperation(http, client),
  };
  const operations = new Map<OperationName, Operation>();
  for (const each of names) operations.set(each, await makers[each]());
  return {
    operations,
    close: async () => {
      for (const operation of operations.values()) await operation.close();
      await door.close();
      await http.close();
    },
  };
}
