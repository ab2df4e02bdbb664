#include "app/distributed_private.h"
#include "remote/hosts_replace.h"

#include <sys/stat.h>

/*
 * A run that starts lost workers again reads a changed file of hosts again. The number of workers stays; parameter servers
 * and the ranks of a job keep their hosts.
 */

struct dfg_hosts_file dfg_distributed_look_at_hosts(const struct dfg_distributed *distributed)
{
	const struct dfg_placement *placement = distributed->options.placement;
	struct stat there;
	if (distributed->options.servers || distributed->options.devices || placement->ranks || !placement->hosts ||
		stat(placement->hosts, &there) || !S_ISREG(there.st_mode))
		return (struct dfg_hosts_file){0};
	return (struct dfg_hosts_file){true, there.st_dev, there.st_ino, there.st_size, there.st_mtim};
}

static bool is_other(struct dfg_hosts_file old, struct dfg_hosts_file now)
{
	return old.exists && now.exists &&
		   (old.device != now.device || old.inode != now.inode || old.bytes != now.bytes ||
			   old.changed.tv_sec != now.changed.tv_sec || old.changed.tv_nsec != now.changed.tv_nsec);
}

/* A file that cannot be read leaves the hosts as they are until it changes again. */
bool dfg_distributed_hosts_changed(void *arg)
{
	struct dfg_distributed *distributed = arg;
	const struct dfg_hosts_file now = dfg_distributed_look_at_hosts(distributed);
	struct dfg_hosts listed;
	if (!is_other(distributed->hosts_file, now))
		return false;
	distributed->hosts_file = now;
	struct dfg_err *err = dfg_placement_hosts(distributed->options.placement, &distributed->arena, &listed);
	if (err)
		dfg_report_note(distributed->options.report, "%s (the hosts are unchanged)", err->text);
	else
		distributed->listed = listed;
	bool could_be_read = !err;
	dfg_err_free(err);
	return could_be_read;
}

bool dfg_distributed_replace_hosts(void *arg, uint32_t first, uint32_t count)
{
	struct dfg_distributed *distributed = arg;
	uint32_t without = DFG_NONE;
	if (!distributed->listed.count)
		return true;
	struct dfg_err *err = dfg_hosts_replace(&distributed->hosts, first, count, &distributed->listed, &without);
	if (err)
		dfg_report_note(distributed->options.report, "%s", err->text);
	else if (without != DFG_NONE)
		dfg_report_note(distributed->options.report, "%s: no host is left for %s",
			distributed->options.placement->hosts, distributed->hosts.worker[without].label);
	bool all = !err && without == DFG_NONE;
	dfg_err_free(err);
	return all;
}
