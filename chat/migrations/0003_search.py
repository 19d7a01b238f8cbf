"""What search needs: a function that folds words, whose words a message has, and two indexes.

``konak_words`` follows ``chat/domain/folding.py``. The lexemes carry their owner's key in front, so
that one index answers "this person's, and these words", and nobody's words lengthen another's way.
"""

from django.db import migrations

DROPPED = (
    r"\u00ad\u0300-\u0302\u0304\u0305\u0309\u030d-\u031a\u031c-\u0325\u0329-\u036f"
    r"\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u180e"
    r"\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufdd0"
    r"\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
)
BETWEEN = (
    r"\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9"
    r"\u00bb-\u00bf\u00d7\u00f7\u02bc\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05c6"
    r"\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u1361-\u1368\u1680"
    r"\u2000-\u206f\u20a0-\u20cf\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\ufff9-\uffff"
)
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2190-\u2bff\u3005-\u3007\u3021-\u3029"
    r"\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\ua4cf"
    r"\uac00-\ud7a3\uf900-\ufaff\U0001f000-\U0003ffff"
)
MARKS = r"[\u0303\u0307\u030a-\u030c\u031b\u0326-\u0328]|(?<![иу])\u0306|(?<!і)\u0308"

# Only what pg_catalog has, so that a restored dump can build the index with an empty search path.
# A tsvector holds 1 MB: of a text with more distinct words than that some are not found.
WORDS = rf"""
CREATE FUNCTION konak_words(owner_key text, said text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT COST 20000 AS $body$
DECLARE
    capital CONSTANT text := U&'\FDD0';
    folded text := left(said, 200000);
    plain CONSTANT boolean := octet_length(folded) = length(folded);
    unspaced boolean := false;
    found text[];
BEGIN
    IF NOT plain THEN
        folded := replace(normalize(folded, NFKD), U&'I\0307', 'i');
        folded := regexp_replace(folded, '[{DROPPED}]+', '', 'g');
    END IF;
    folded := casefold(replace(folded, 'I', capital) COLLATE pg_unicode_fast);
    IF NOT plain THEN
        folded := translate(normalize(folded, NFC), 'ёϊϋșț', 'еιυşţ');
        unspaced := folded ~ '[{UNSPACED}]';
        IF unspaced THEN
            folded := regexp_replace(folded, '([{UNSPACED}]+)', ' \1 ', 'g');
        END IF;
    END IF;
    folded := regexp_replace(folded, '[{BETWEEN}]+', ' ', 'g');
    WITH words AS MATERIALIZED (
        SELECT DISTINCT word, unspaced AND word ~ '^[{UNSPACED}]' AS is_run,
               strpos(word, capital) > 0 AS has_capital
        FROM unnest(string_to_array(folded, ' ')) AS word WHERE word <> ''
    ),
    readings AS MATERIALIZED (
        SELECT word FROM words WHERE NOT is_run AND NOT has_capital
        UNION ALL
        SELECT normalize(replace(word, capital, 'i'), NFC) FROM words WHERE has_capital
        UNION ALL
        SELECT replace(word, capital, 'ı') FROM words WHERE has_capital
    ),
    forms AS (
        SELECT left(word, 32) FROM readings
        UNION ALL
        SELECT left(normalize(replace(replace(replace(translate(
            regexp_replace(normalize(word, NFKD), '{MARKS}', '', 'g'),
            'ıøđłħð', 'iodlhd'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), NFC), 32)
        FROM readings WHERE octet_length(word) <> length(word)
        UNION ALL
        SELECT letters[at] || coalesce(letters[at + 1], '')
        FROM words, string_to_array(word, NULL) AS letters,
             generate_subscripts(letters, 1) AS at
        WHERE is_run
    )
    SELECT array_agg(DISTINCT owner_key || form) INTO found
    FROM forms AS all_forms (form) WHERE form <> '';
    WHILE octet_length(array_to_string(found, '')) > 900000 LOOP
        found := found[:cardinality(found) * 3 / 4];
    END LOOP;
    RETURN array_to_tsvector(coalesce(found, '{{}}'));
END
$body$
"""
OWNER_KEY = """
ALTER TABLE chat_message ADD COLUMN owner_key text;
UPDATE chat_message m SET owner_key = left(c.owner_id::text, 8)
FROM chat_conversation c WHERE c.id = m.conversation_id;
ALTER TABLE chat_message ALTER COLUMN owner_key SET NOT NULL;
CREATE FUNCTION chat_message_owner_key() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $body$
BEGIN
    NEW.owner_key := (
        SELECT left(owner_id::text, 8) FROM chat_conversation WHERE id = NEW.conversation_id
    );
    RETURN NEW;
END
$body$;
CREATE TRIGGER owner_key BEFORE INSERT OR UPDATE OF conversation_id ON chat_message
FOR EACH ROW EXECUTE FUNCTION chat_message_owner_key();
"""
# A word is found the moment it is written: no list of pending ones, which the next search would
# read from end to end. Statistics of these indexes say nothing and would fold thousands of texts.
# Several processes may build the index together. To search it takes longer to call them than to look.
INDEXES = """
ALTER FUNCTION konak_words(text, text) PARALLEL SAFE;
CREATE INDEX messages_by_words ON chat_message
    USING gin (konak_words(owner_key, text)) WITH (fastupdate = off);
ALTER INDEX messages_by_words ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX conversations_by_words ON chat_conversation
    USING gin (konak_words(left(owner_id::text, 8), title)) WITH (fastupdate = off);
ALTER INDEX conversations_by_words ALTER COLUMN 1 SET STATISTICS 0;
ALTER FUNCTION konak_words(text, text) PARALLEL RESTRICTED;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0002_cut_branches_and_places'),
    ]

    operations = [
        migrations.RunSQL(WORDS, 'DROP FUNCTION konak_words(text, text)'),
        migrations.RunSQL(
            OWNER_KEY,
            'DROP TRIGGER owner_key ON chat_message; DROP FUNCTION chat_message_owner_key();'
            'ALTER TABLE chat_message DROP COLUMN owner_key',
        ),
        migrations.RunSQL(
            INDEXES, 'DROP INDEX messages_by_words; DROP INDEX conversations_by_words'
        ),
    ]
