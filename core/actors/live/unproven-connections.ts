/**
 * The connections of a link server whose peers have not proven themselves yet: a bounded number. At the bound a new one replaces
 * the oldest of the address that has the most. So a flood of handshakes that never end cuts its own connections, and other hosts
 * get their links; on the address of the flood itself a handshake has the time in which the bound is filled once.
 */
import type { Socket } from 'node:net';

export class UnprovenConnections {
  readonly #max: number;
  /** By remote address, then by remote port, the oldest first. */
  readonly #addresses = new Map<string, Map<number, Socket>>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A connection that the server accepted. It is counted until `proven`, or until it closes. */
  add(socket: Socket): void {
    if (this.#count >= this.#max) this.#evict();
    const { remoteAddress = '', remotePort = 0 } = socket;
    const ofAddress = this.#addresses.get(remoteAddress) ?? new Map<number, Socket>();
    this.#addresses.set(remoteAddress, ofAddress.set(remotePort, socket));
    this.#count += 1;
    socket.once('close', () => this.#remove(remoteAddress, remotePort, socket));
  }

  /** `socket`: the accepted connection, or TLS over it: both have one remote end. */
  proven({ remoteAddress = '', remotePort = 0 }: Socket): void {
    const socket = this.#addresses.get(remoteAddress)?.get(remotePort);
    if (socket !== undefined) this.#remove(remoteAddress, remotePort, socket);
  }

  destroy(): void {
    for (const ofAddress of [...this.#addresses.values()]) for (const socket of ofAddress.values()) socket.destroy();
  }

  #evict(): void {
    const [first, ...others] = this.#addresses;
    if (first === undefined) return;
    const [address, most] = others.reduce((most, other) => (other[1].size > most[1].size ? other : most), first);
    const [oldest] = most;
    if (oldest === undefined) return;
    const [port, socket] = oldest;
    this.#remove(address, port, socket);
    socket.destroy();
  }

  #remove(address: string, port: number, socket: Socket): void {
    const ofAddress = this.#addresses.get(address);
    if (ofAddress?.get(port) !== socket) return;
    ofAddress.delete(port);
    this.#count -= 1;
    if (ofAddress.size === 0) this.#addresses.delete(address);
  }
}
