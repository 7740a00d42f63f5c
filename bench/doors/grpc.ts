/** gRPC through grpc-js, over a few channels: one alone would make all calls wait for one flow-control window. */
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { Door } from './door.ts';
import { protobufDoor } from './messages.ts';

const service = '/svc.mesh.v1.MpcWalletService';
const channels = 4;
const answerWithinMs = 30_000;
const asTheyAre = (bytes: Buffer): Buffer => bytes;

export function grpcDoor(address: string, token: string): Door {
  const clients = Array.from(
    { length: channels },
    () => new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  );
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  let turn = 0;
  return protobufDoor(
    'grpc',
    (rpc, request) =>
      new Promise((resolve, reject) => {
        turn = (turn + 1) % channels;
        clients[turn]!.makeUnaryRequest(
          `${service}/${rpc}`,
          asTheyAre,
          asTheyAre,
          Buffer.from(request.buffer, request.byteOffset, request.length),
          metadata,
          { deadline: Date.now() + answerWithinMs },
          (error, response) => {
            if (error !== null || response === undefined)
              reject(new Error(`gRPC ${error?.code ?? 'without response'}`));
            else resolve(response);
          },
        );
      }),
    async () => {
      for (const client of clients) client.close();
    },
  );
}
