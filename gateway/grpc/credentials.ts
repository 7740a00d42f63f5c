/** The credentials of the gRPC server: TLS 1.2 or later, or none. */
import { ServerCredentials } from '@grpc/grpc-js';
import type { DoorTls } from '../http/server-tls.ts';

export function grpcCredentials(tls: DoorTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, clientCa } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const asksClients = clientCa !== undefined;
  return ServerCredentials.createSsl(asksClients ? Buffer.from(clientCa) : null, [pair], asksClients);
}
