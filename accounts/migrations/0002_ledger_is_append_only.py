"""The ledger refuses UPDATE and DELETE, whoever asks."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION accounts_auditentry_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit ledger is append-only';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION accounts_auditentry_refuse();
"""
BACKWARD = """
DROP TRIGGER append_only ON accounts_auditentry;
DROP FUNCTION accounts_auditentry_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
