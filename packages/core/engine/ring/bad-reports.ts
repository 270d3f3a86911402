/** What makers said of bad samples, kept until their batch is delivered. */

import type { BadReport } from '../plan/job.js'
import { noteBad } from './ring-note.js'

export class BadReports {
  private reports: BadReport[] = []

  add(report: BadReport): void {
    this.reports.push(noteBad(report))
  }

  /** Those of a batch, by row; those of batches before it are forgotten. */
  take(batch: number, generation: number): BadReport[] {
    const present = this.reports.filter(report => report.generation === generation)
    this.reports = present.filter(report => report.batch > batch)
    // A row that was made twice (its first maker died) is reported once.
    const rows = new Map(present.filter(report => report.batch === batch).map(report => [report.row, report]))
    return [...rows.values()].sort((a, b) => a.row - b.row)
  }
}
