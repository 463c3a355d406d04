/** All that a search finds, at an address of its own. */
import type { ScreenProps } from '../address.ts'
import { Filters } from '../components/filter-field.tsx'
import { EmptyState, PageHead, Panel } from '../components/screen.tsx'
import {
  HitText,
  keyOfHit,
  searchNote,
  searchPlaceholder,
  useHits,
} from '../components/search-hits.tsx'
import { NameLink } from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'

export function Search({ query: { q = '', type } }: ScreenProps) {
  const text = q.trim()
  const hits = useHits(text)
  const groups = text === '' ? [] : hits.filter(({ title }) => title !== 'Actions')
  const shown = groups.filter(({ title }) => type === undefined || title === type)
  return (
    <>
      <PageHead tab={text === '' ? 'Search' : `Search: ${text}`} title="Search" />
      <Filters
        filters={[
          { name: 'q', label: searchPlaceholder },
          {
            name: 'type',
            label: 'Kind',
            any: 'All kinds',
            choices: groups.map(({ title }) => title),
          },
        ]}
        note={
          <span class="muted">
            {text === '' ? 'Enter a name, or a part of one.' : searchNote(text)}
          </span>
        }
      />
      <div class="stack">
        {shown.map(({ title, hits: found, failed }) => (
          <Panel key={title} title={title} count={failed === true ? undefined : found.length} flush>
            {failed === true && <p class="panel-note">{`${title} could not be searched.`}</p>}
            <VirtualList
              label={title}
              items={found}
              keyOf={keyOfHit}
              rowHeight={45}
              row={(hit) => (
                <div class="run-row">
                  <HitText
                    hit={hit}
                    link={<NameLink class="row-link row-title" href={hit.href} text={hit.label} />}
                  />
                </div>
              )}
            />
          </Panel>
        ))}
      </div>
      {shown.length === 0 && text !== '' && (
        <EmptyState icon="search" text={`Nothing matches “${text}”.`} />
      )}
    </>
  )
}
