/** Calls of the signing API over gRPC, to the gateways of a live sandbox. */
import { type DescMethod, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ErrorInfoSchema, RetryInfoSchema } from '../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.ts';
import { MpcWalletService } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { failureOfCode } from '../../scenarios/runner/outcome.ts';
import type { GrpcCode } from '../../scenarios/runner/terms.ts';
import type { CallName, CallTypes, NoAnswer } from '../../scenarios/runner/world.ts';

const timeoutMs = 35_000;
const asTheyAre = (bytes: Buffer): Buffer => bytes;

export class GrpcCaller {
  readonly #clients: readonly Client[];
  readonly #token: string;
  #next = 0;

  /** `addresses`: host:port, called in turn. */
  constructor(addresses: readonly string[], token: string) {
    this.#clients = addresses.map((address) => new Client(address, credentials.createInsecure()));
    this.#token = token;
  }

  /** Never rejects for failures of the service or the network. */
  async call<N extends CallName & keyof typeof MpcWalletService.method>(
    name: N,
    request: CallTypes[N][0],
    deadlineMs = timeoutMs,
  ): Promise<{ readonly response: CallTypes[CallName][1] } | NoAnswer> {
    const { name: rpc, parent, input, output }: DescMethod = MpcWalletService.method[name];
    const client = this.#clients[this.#next % this.#clients.length]!;
    this.#next += 1;
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${this.#token}`);
    const bytes = Buffer.from(toBinary(input, request as MessageShape<typeof input>));
    const deadline = Date.now() + deadlineMs;
    return new Promise((resolve) => {
      const done = (error: ServiceError | null, answer?: Buffer) => {
        if (error !== null) resolve(noAnswer(error));
        else resolve({ response: fromBinary(output, answer!) as unknown as CallTypes[CallName][1] });
      };
      client.makeUnaryRequest(`/${parent.typeName}/${rpc}`, asTheyAre, asTheyAre, bytes, metadata, { deadline }, done);
    });
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }
}

function noAnswer({ code: number, details, metadata }: ServiceError): NoAnswer {
  const code = status[number] as GrpcCode;
  const [bytes] = metadata.get('grpc-status-details-bin');
  const parts = bytes instanceof Buffer ? fromBinary(StatusSchema, bytes).details : [];
  const reason = parts.map((part) => anyUnpack(part, ErrorInfoSchema)?.reason).find((one) => one !== undefined) ?? '';
  const retry = parts.map((part) => anyUnpack(part, RetryInfoSchema)?.retryDelay).find((one) => one !== undefined);
  return {
    ...{ failure: failureOfCode(code), message: details, grpc: { code, reason } },
    ...(retry !== undefined && { retryAfterS: Number(retry.seconds) }),
  };
}
