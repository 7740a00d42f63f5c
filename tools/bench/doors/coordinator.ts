/**
 * Only the coordinator: a link of our own in the gateway's role, with the gateway's own client, and no API server in between. It
 * measures the wire, the coordinator, the nodes and Redis.
 */
import { randomUUID } from 'node:crypto';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { readRoster, readSecret, secretFiles } from '../../../cli/cluster-files/cluster-material.ts';
import { sandboxTenant } from '../../../cli/cluster-files/sandbox.ts';
import { protobufCaller } from '../../../clients/load/calls/messages.ts';
import type { SigningCaller } from '../../../clients/load/calls/signing-caller.ts';
import { silentLog, systemPorts, systemRandom } from '../../../core/actors/live/ports.ts';
import { callRequest, signingMethods } from '../../../gateway/api/signing-methods.ts';
import { connectSigning } from '../../../gateway/signing/connect.ts';
import { LiveCoordinatorLink } from '../../../gateway/signing/coordinator-link.ts';
import { orderIssuer } from '../../../gateway/signing/order-issuer.ts';

const connectWithinMs = 10_000;

export async function coordinatorDoor(url: string, dataDir: string): Promise<SigningCaller> {
  const roster = readRoster(dataDir, 'sandbox');
  const identitySeed = readSecret(dataDir, secretFiles.gatewayIdentity);
  const link = new LiveCoordinatorLink({
    url,
    roster,
    identitySeed,
    joinSecret: readSecret(dataDir, secretFiles.join),
    boot: randomUUID(),
    log: silentLog,
  });
  const { calls, cluster } = connectSigning({
    link,
    roster,
    orders: orderIssuer({ roster, identitySeed, random: systemRandom }),
    ...systemPorts,
    log: silentLog,
  });
  link.start();
  const giveUpMs = performance.now() + connectWithinMs;
  while (!cluster.coordinatorConnected) {
    if (performance.now() > giveUpMs) throw new Error(`no link to the coordinator at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const methods = new Map(signingMethods.map((method) => [method.name, method]));
  return protobufCaller(
    (rpc, request) =>
      new Promise((resolve, reject) => {
        const method = methods.get(rpc)!;
        calls.start(
          {
            request: callRequest(method, fromBinary(method.request, request)),
            tenant: sandboxTenant,
            correlationId: '',
            traceparent: '',
          },
          ({ response, failure }) =>
            response === undefined ? reject(failure) : resolve(toBinary(method.response, response.value)),
        );
      }),
    () => link.stop(),
  );
}
