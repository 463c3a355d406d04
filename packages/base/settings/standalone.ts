/** Defaults of a standalone instance, which deploys to the machine that it runs on. */
export const standalone = {
  provider: 'local',
  account: 'local',
  region: 'local',
  /** Where its images are, at the gateway and at the infrastructure service. */
  imagesPath: '/local/images',
  /** The setting that lets users run commands on this machine. */
  commandsKey: 'bakery.local.enabled',
} as const

/** The provider whose objects are deployed by manifests. */
export const manifestProvider = 'kubernetes'

/** Providers whose resources the embedded infrastructure manages. */
export const cloudProviders = [standalone.provider, manifestProvider] as const

export function describeRefusal(what: string): string {
  return (
    `${what} would run commands on this machine, which is switched off. Set ${standalone.commandsKey}: true ` +
    'to let users who may run pipelines do so.'
  )
}
