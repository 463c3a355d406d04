/** Settings of servers of Jenkins, as the configuration gives them to the back end. */
import assert from 'node:assert/strict'
import { jenkinsKeys, toJenkinsSettings } from '../../../../packages/builds/jenkins/settings.ts'

export function jenkinsOf(masters: readonly object[]): object {
  const keys = jenkinsKeys.keys.parse({ 'jenkins.enabled': true, 'jenkins.masters': masters })
  const settings = toJenkinsSettings(keys, {
    problem: assert.fail,
    notice: assert.fail,
    isSet: () => false,
  })
  assert.ok(settings)
  return settings
}
