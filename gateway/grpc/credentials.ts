/** What the gRPC door shows and asks for: TLS from 1.2 on, or nothing. */
import { ServerCredentials } from '@grpc/grpc-js';
import type { DoorTls } from '../http/server-tls.ts';

export function grpcCredentials(tls: DoorTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, clientCa } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const asksClients = clientCa !== undefined;
  return ServerCredentials.createSsl(asksClients ? Buffer.from(clientCa) : null, [pair], asksClients);
}
