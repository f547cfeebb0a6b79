/**
 * Hardships: what the table of openings (DESIGN, FORMAT.md) says of a full disk, a second owner, a DIR that may only be
 * read, SQLite, KEY or VAL lost or damaged, and what a clock that is set must not do. With the real program on a real disk.
 *
 *     node scripts/checks/hardships.ts [NAME…]      full disk and read-only DIR want root
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bench, type Hardship } from './hardships/case.ts'
import { clock } from './hardships/clock.ts'
import { damage } from './hardships/damage.ts'
import { fullDisk } from './hardships/full-disk.ts'
import { key } from './hardships/key.ts'
import { owners } from './hardships/owners.ts'
import { readOnly } from './hardships/read-only.ts'
import { sqlite } from './hardships/sqlite.ts'
import { serveDemoWeb } from './served-web.ts'

const HARDSHIPS: readonly Hardship[] = [fullDisk, owners, readOnly, sqlite, key, damage, clock]

async function main(): Promise<void> {
  const wanted = process.argv.slice(2)
  const folder = mkdtempSync(join(tmpdir(), 'hardships-'))
  chmodSync(folder, 0o755)
  const wrong: string[] = []
  try {
    for (const hardship of HARDSHIPS) {
      if (wanted.length > 0 && !wanted.some((word) => hardship.title.includes(word))) continue
      console.log(hardship.title)
      // A web of its own: some of its pages fail only the first times.
      const name = hardship.title.replaceAll(' ', '-')
      const web = await serveDemoWeb({ seed: 'hardships', pages: 150, hosts: 6 }, join(folder, `${name}.requests`))
      try {
        await hardship.run(new Bench(web, join(folder, name), wrong))
      } finally {
        await web.stop()
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(wrong.length === 0 ? 'All as it should be.' : `${wrong.length} not as it should be.`)
  process.exitCode = wrong.length === 0 ? 0 : 1
}

await main()
