/**
 * The console of a sandbox: the page at `/`, and its files below /console/, which the composition of the gateway provides. Production
 * has no such page.
 */
import { isLoopbackHost } from '../api/hosts.ts';
import { type Endpoint, headerOf } from './contract.ts';
import { noSuchPath } from './endpoints.ts';
import { pageHeaders } from './page-headers.ts';

/** The file at a path; undefined: there is none. `publicToken` goes into the document. */
export type ConsoleFiles = (
  path: string,
  publicToken: string | undefined,
) => Promise<{ readonly type: string; readonly body: string; readonly isImmutable: boolean } | undefined>;

export function consoleEndpoints(files: ConsoleFiles, publicToken: string | undefined): readonly Endpoint[] {
  const run: Endpoint['run'] = async ({ request, entry }) => {
    const [path = ''] = request.target.split('?');
    // Over a network each reader enters a token, also a public one.
    const offered = isLoopbackHost(headerOf(request, 'host') ?? '') ? publicToken : undefined;
    const file = await files(path, offered);
    if (file === undefined) {
      entry.route = undefined;
      throw noSuchPath(request.method, request.target);
    }
    const headers = {
      ...pageHeaders,
      'content-type': file.type,
      'cache-control': file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-store',
    };
    return { status: 200, headers, body: file.body };
  };
  return ['/', '/console/*'].map((path) => ({ method: 'GET', path, answersHead: true, run }));
}
