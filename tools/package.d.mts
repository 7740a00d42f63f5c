export function isPackaged(path: string): boolean;
export function publishedManifest(manifest: object, unbundled: readonly string[]): PublishedManifest;

export interface PublishedManifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}
