/**
 * REDIS_URL: one Redis, as a URL; or a Redis Cluster, as a list of some of its nodes with commas between them. The first is
 * a URL; its scheme, user and password apply to all nodes. The client asks these nodes for the others.
 */

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisAddress {
  /** One: a single Redis. Several: nodes of a Redis Cluster. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]];
  readonly isTls: boolean;
  readonly username: string | undefined;
  /** Secret. */
  readonly password: string | undefined;
}

const portDefault = 6379;

/** undefined: the text is no such address. */
export function redisAddress(text: string): RedisAddress | undefined {
  const [first, ...others] = text.split(',').map((part) => part.trim());
  const urls = [first!, ...others].map(urlOf(schemeOf(first!)));
  const [head] = urls;
  if (head === undefined || urls.some((url) => url === undefined || url.protocol !== head.protocol)) return undefined;
  // A Redis Cluster has one database.
  if (others.length > 0 && urls.some((url) => !/^\/?0?$/.test(url!.pathname))) return undefined;
  const nodes = urls.map((url) => ({ host: bare(url!.hostname), port: Number(url!.port || portDefault) }));
  return {
    nodes: nodes as [RedisNode, ...RedisNode[]],
    isTls: head.protocol === 'rediss:',
    username: head.username === '' ? undefined : decodeURIComponent(head.username),
    password: head.password === '' ? undefined : decodeURIComponent(head.password),
  };
}

/** Hosts and ports, without user and password. */
export function redisHosts(text: string): string {
  const { nodes } = redisAddress(text)!;
  return nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(', ');
}

function schemeOf(first: string): string {
  return /^rediss?:\/\//.exec(first)?.[0] ?? '';
}

function urlOf(scheme: string): (part: string) => URL | undefined {
  return (part) => {
    const text = /^rediss?:\/\//.test(part) ? part : scheme + part;
    if (scheme === '' || !URL.canParse(text)) return undefined;
    const url = new URL(text);
    return url.hostname === '' || !isDecodable(`${url.username}:${url.password}`) ? undefined : url;
  };
}

/** `decodeURIComponent` throws for other texts. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** IPv6 without its brackets. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
