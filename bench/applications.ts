/** Applications of measurements, as the definition store lists them. */

/** @param version Changes the last one, as if it had just been saved. */
export function toApplications(count: number, version: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) =>
    toApplication(index, index === count - 1 ? version : 0),
  )
}

function toApplication(index: number, version: number): Record<string, unknown> {
  return {
    name: `MANY-${index}`,
    description:
      'Takes orders, reserves what is in stock, and tells the warehouse what to send to which address.',
    email: `team-${index % 100}@example.org`,
    cloudProviders: 'local',
    accounts: `account-${index % 50}`,
    repoType: 'git',
    repoProjectKey: `project-${index % 100}`,
    repoSlug: `many-${index}`,
    platformHealthOnly: false,
    platformHealthOnlyShowOverride: false,
    instancePort: 8080,
    trafficGuards: [],
    createTs: '1700000000000',
    updateTs: String(1_700_000_000_000 + version),
    lastModifiedBy: 'admin',
  }
}
