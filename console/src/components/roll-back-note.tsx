/** What a rollback does: commits that go, and instances that still run or must start. */
import { useLive } from '../api/live.ts'
import { instancesOf, isEnabled, type ServerGroup, versionOf } from '../model/server-groups.ts'
import { plural } from '../words.ts'
import { Name } from './text.tsx'

/** States of instances that have started, also without traffic. */
const runs = ['Up', 'OutOfService']

interface RollBackNoteProps {
  readonly application: string
  readonly from: ServerGroup
  readonly target: ServerGroup | undefined
}

export function RollBackNote({ application, from, target }: RollBackNoteProps) {
  const { body = [] } = useLive(
    '/applications/{application}/releases',
    { path: { application } },
    'open',
  )
  if (target === undefined) return null
  const releaseOf = (group: ServerGroup) =>
    body.find(({ images }) => images.includes(versionOf(group) ?? ''))
  const [newer, older] = [releaseOf(from), releaseOf(target)]
  const going = body.filter(
    ({ commit, images, atMs }) =>
      commit &&
      images.length > 0 &&
      newer &&
      older &&
      (atMs ?? 0) > (older.atMs ?? 0) &&
      (atMs ?? 0) <= (newer.atMs ?? 0),
  )
  const total = instancesOf(target).length
  const left = instancesOf(target).filter(({ healthState }) =>
    runs.includes(healthState ?? ''),
  ).length
  const instances =
    left === 0
      ? 'Its instances must start first.'
      : `${left} of ${plural(total, 'instance')} still ${left === 1 ? 'runs' : 'run'}: traffic moves within seconds${left < total ? ` once ${total - left} more are up` : ''}.`
  const isNewer = older && newer && (older.atMs ?? 0) > (newer.atMs ?? 0)
  return (
    <div class="prose">
      <p>
        <Name
          text={`${versionOf(from) ?? from.name} → ${versionOf(target) ?? target.name}`}
          max={120}
        />
      </p>
      <p>{isEnabled(target) ? 'It serves beside the other one already.' : instances}</p>
      <p>
        {going.length > 0
          ? `${plural(going.length, 'commit')} no longer ${going.length === 1 ? 'serves' : 'serve'}:`
          : isNewer
            ? 'It is newer than what serves.'
            : 'Which commits go is not known.'}
      </p>
      <ul class="plain-list">
        {going.map(({ version, commit }) => (
          <li key={version}>
            <Name
              text={`${commit?.message?.split('\n')[0] ?? version}${commit?.author ? ` (${commit.author})` : ''}`}
              max={1000}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}
