/**
 * Rules of cloud providers for the name of an application.
 *
 * @see docs/contracts/definitions.md#names-of-applications
 */

interface NameRule {
  pattern: RegExp
  longest: number
}

const rules: Readonly<Record<string, NameRule>> = {
  aws: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  openstack: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  titus: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  gce: { pattern: /^([A-Za-z][A-Za-z0-9]*)?$/, longest: 63 },
  kubernetes: { pattern: /^[A-Za-z][A-Za-z0-9-]*$/, longest: 63 },
  appengine: { pattern: /^[a-z0-9]*$/, longest: 58 },
  dcos: { pattern: /^[a-z0-9]*$/, longest: 127 },
  tencentcloud: { pattern: /^[A-Za-z0-9_.\-\u4e00-\u9fa5]*$/, longest: 50 },
}

/** One text for each rule of a listed provider that the name breaks. */
export function brokenNameRules(name: string, cloudProviders: unknown): string[] {
  const listed = Array.isArray(cloudProviders) ? cloudProviders.map(String) : String(cloudProviders ?? '').split(',')
  return listed.flatMap((provider) => {
    const key = provider.trim().toLowerCase()
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined
    if (rule === undefined) return []
    const broken: string[] = []
    if (!rule.pattern.test(name)) broken.push(`The name "${name}" has characters that ${key} does not permit.`)
    if (name.length > rule.longest) broken.push(`The name has ${name.length} characters; ${key} permits ${rule.longest}.`)
    return broken
  })
}
