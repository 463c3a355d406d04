/** Builds of uploaded folders, which stages of builds start as any other job. */
export const appBuildPrefix = 'apps/'

interface AppBuildOrder {
  readonly application: string
  /** Id of the uploaded folder. */
  readonly source: string
  /** Version of the image `$application:$version`: such as `12-1a2b3c4`. */
  readonly version: string
  readonly commit?: string
  /** Account whose user builds. Default: that of this machine. */
  readonly account?: string
  /** Repository of a registry, such as `registry.example/shop`, to which a container image is pushed. */
  readonly repository?: string
}

/** Fields of a stage that makes the image; its output `artifacts` begins with it. @param master `Builds.sourceServer` */
export function toAppBuildStage(
  master: string,
  { application, source, version, commit, account, repository }: AppBuildOrder,
): {
  readonly type: string
  readonly master: string
  readonly job: string
  readonly parameters: Record<string, string>
} {
  return {
    type: 'jenkins',
    master,
    job: `${appBuildPrefix}${application}`,
    parameters: {
      source,
      version,
      ...(commit !== undefined && { commit }),
      ...(account !== undefined && { account }),
      ...(repository !== undefined && { repository }),
    },
  }
}
