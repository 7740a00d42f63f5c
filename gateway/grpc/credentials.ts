/** The credentials of the gRPC server: TLS 1.2 or later, or none. */
import { ServerCredentials } from '@grpc/grpc-js';
import { withoutResumption } from '../../core/actors/live/link-tls.ts';
import type { ApiServerTls } from '../http/server-tls.ts';

export function grpcCredentials(tls: ApiServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, clientCa } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const asksClients = clientCa !== undefined;
  const credentials = ServerCredentials.createSsl(asksClients ? Buffer.from(clientCa) : null, [pair], asksClients);
  // The library has no option for it: these are the options with which it makes its HTTP/2 server.
  if (asksClients) Object.assign(credentials._getConstructorOptions() ?? {}, withoutResumption);
  return credentials;
}
